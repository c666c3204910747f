SELECT
  CASE
    WHEN "age" IS NULL
    OR CAST("age" AS DOUBLE PRECISION) = CAST('NaN' AS DOUBLE PRECISION)
    THEN NULL
    WHEN CAST("age" AS DOUBLE PRECISION) <= 33.5e0
    THEN 26
    ELSE 45
  END AS "age",
  CASE
    WHEN "workclass" IS NULL
    THEN 'Private'
    WHEN NORMALIZE(CAST("workclass" AS TEXT), NFC) IN ('Federal-gov', 'Self-emp-inc')
    THEN 'Self-emp-inc'
    WHEN NORMALIZE(CAST("workclass" AS TEXT), NFC) IN (
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
    WHEN NORMALIZE(CAST("education" AS TEXT), NFC) IN (
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
    WHEN NORMALIZE(CAST("education" AS TEXT), NFC) IN ('Assoc-acdm', 'Bachelors', 'Doctorate', 'Masters', 'Prof-school')
    THEN 'Bachelors'
    ELSE 'HS-grad'
  END AS "education",
  CASE
    WHEN "marital-status" IS NULL
    THEN NULL
    WHEN NORMALIZE(CAST("marital-status" AS TEXT), NFC) IN (
      'Divorced',
      'Married-AF-spouse',
      'Married-spouse-absent',
      'Never-married',
      'Widowed'
    )
    THEN 'Never-married'
    WHEN NORMALIZE(CAST("marital-status" AS TEXT), NFC) IN ('Married-civ-spouse', 'Separated')
    THEN 'Married-civ-spouse'
    ELSE 'Married-civ-spouse'
  END AS "marital-status",
  CASE
    WHEN "occupation" IS NULL
    THEN 'Other-service'
    WHEN NORMALIZE(CAST("occupation" AS TEXT), NFC) IN ('Adm-clerical', 'Armed-Forces', 'Craft-repair', 'Machine-op-inspct', 'Sales')
    THEN 'Craft-repair'
    WHEN NORMALIZE(CAST("occupation" AS TEXT), NFC) IN ('Exec-managerial', 'Prof-specialty', 'Protective-serv', 'Tech-support')
    THEN 'Exec-managerial'
    WHEN NORMALIZE(CAST("occupation" AS TEXT), NFC) IN (
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
    WHEN "capital-gain" IS NULL
    OR CAST("capital-gain" AS DOUBLE PRECISION) = CAST('NaN' AS DOUBLE PRECISION)
    THEN NULL
    WHEN CAST("capital-gain" AS DOUBLE PRECISION) <= 7000
    THEN 0
    ELSE 11000
  END AS "capital-gain",
  CASE
    WHEN "capital-loss" IS NULL
    OR CAST("capital-loss" AS DOUBLE PRECISION) = CAST('NaN' AS DOUBLE PRECISION)
    THEN NULL
    WHEN CAST("capital-loss" AS DOUBLE PRECISION) <= 1846
    THEN 0
    ELSE 1902
  END AS "capital-loss",
  CASE
    WHEN "hours-per-week" IS NULL
    OR CAST("hours-per-week" AS DOUBLE PRECISION) = CAST('NaN' AS DOUBLE PRECISION)
    THEN NULL
    WHEN CAST("hours-per-week" AS DOUBLE PRECISION) <= 40.5e0
    THEN 40
    WHEN CAST("hours-per-week" AS DOUBLE PRECISION) <= 43.5e0
    THEN 42
    WHEN CAST("hours-per-week" AS DOUBLE PRECISION) <= 44.5e0
    THEN 44
    ELSE 50
  END AS "hours-per-week",
  'United-States' AS "native-country"
FROM "people"
