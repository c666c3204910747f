SELECT
  CASE
    WHEN "age" IS NULL OR ISNAN(CAST("age" AS DOUBLE))
    THEN NULL
    WHEN CAST("age" AS DOUBLE) <= 33.5e0
    THEN 26
    ELSE 45
  END AS "age",
  CASE
    WHEN "workclass" IS NULL
    THEN 'Private'
    WHEN CONTAINS(CAST("workclass" AS TEXT), CHR(0))
    THEN 'Private'
    WHEN NFC_NORMALIZE(CAST("workclass" AS TEXT)) IN ('Federal-gov', 'Self-emp-inc')
    THEN 'Self-emp-inc'
    WHEN NFC_NORMALIZE(CAST("workclass" AS TEXT)) IN (
      'Local-gov',
      'Never-worked',
      'Private',
      'Self-emp-not-inc',
      'State-gov',
      'Without-pay'
    )
    THEN 'Private'
    ELSE 'Private'
  END AS "workclass",
  CASE
    WHEN "education" IS NULL
    THEN NULL
    WHEN CONTAINS(CAST("education" AS TEXT), CHR(0))
    THEN 'HS-grad'
    WHEN NFC_NORMALIZE(CAST("education" AS TEXT)) IN (
      '10th',
      '11th',
      '12th',
      '1st-4th',
      '5th-6th',
      '7th-8th',
      '9th',
      'Assoc-voc',
      'HS-grad',
      'Preschool',
      'Some-college'
    )
    THEN 'HS-grad'
    WHEN NFC_NORMALIZE(CAST("education" AS TEXT)) IN ('Assoc-acdm', 'Bachelors', 'Doctorate', 'Masters', 'Prof-school')
    THEN 'Bachelors'
    ELSE 'HS-grad'
  END AS "education",
  CASE
    WHEN "marital-status" IS NULL
    THEN NULL
    WHEN CONTAINS(CAST("marital-status" AS TEXT), CHR(0))
    THEN 'Married-civ-spouse'
    WHEN NFC_NORMALIZE(CAST("marital-status" AS TEXT)) IN (
      'Divorced',
      'Married-AF-spouse',
      'Married-spouse-absent',
      'Never-married',
      'Widowed'
    )
    THEN 'Never-married'
    WHEN NFC_NORMALIZE(CAST("marital-status" AS TEXT)) IN ('Married-civ-spouse', 'Separated')
    THEN 'Married-civ-spouse'
    ELSE 'Married-civ-spouse'
  END AS "marital-status",
  CASE
    WHEN "occupation" IS NULL
    THEN 'Other-service'
    WHEN CONTAINS(CAST("occupation" AS TEXT), CHR(0))
    THEN 'Exec-managerial'
    WHEN NFC_NORMALIZE(CAST("occupation" AS TEXT)) IN ('Adm-clerical', 'Armed-Forces', 'Craft-repair', 'Machine-op-inspct', 'Sales')
    THEN 'Craft-repair'
    WHEN NFC_NORMALIZE(CAST("occupation" AS TEXT)) IN ('Exec-managerial', 'Prof-specialty', 'Protective-serv', 'Tech-support')
    THEN 'Exec-managerial'
    WHEN NFC_NORMALIZE(CAST("occupation" AS TEXT)) IN (
      'Farming-fishing',
      'Handlers-cleaners',
      'Other-service',
      'Priv-house-serv',
      'Transport-moving'
    )
    THEN 'Other-service'
    ELSE 'Exec-managerial'
  END AS "occupation",
  'Husband' AS "relationship",
  'White' AS "race",
  'Male' AS "sex",
  CASE
    WHEN "capital-gain" IS NULL OR ISNAN(CAST("capital-gain" AS DOUBLE))
    THEN NULL
    WHEN CAST("capital-gain" AS DOUBLE) <= 7000
    THEN 0
    ELSE 11000
  END AS "capital-gain",
  CASE
    WHEN "capital-loss" IS NULL OR ISNAN(CAST("capital-loss" AS DOUBLE))
    THEN NULL
    WHEN CAST("capital-loss" AS DOUBLE) <= 1846
    THEN 0
    ELSE 1902
  END AS "capital-loss",
  CASE
    WHEN "hours-per-week" IS NULL OR ISNAN(CAST("hours-per-week" AS DOUBLE))
    THEN NULL
    WHEN CAST("hours-per-week" AS DOUBLE) <= 40.5e0
    THEN 40
    WHEN CAST("hours-per-week" AS DOUBLE) <= 43.5e0
    THEN 42
    WHEN CAST("hours-per-week" AS DOUBLE) <= 44.5e0
    THEN 44
    ELSE 50
  END AS "hours-per-week",
  'United-States' AS "native-country"
FROM "people"
