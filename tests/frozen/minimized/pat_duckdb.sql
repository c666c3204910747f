SELECT
  CASE
    WHEN "age" IS NULL OR ISNAN(CAST("age" AS DOUBLE))
    THEN '(missing)'
    WHEN CAST("age" AS DOUBLE) <= 33.5e0
    THEN '≤ 33'
    ELSE '≥ 34'
  END AS "age",
  CASE
    WHEN "workclass" IS NULL
    THEN 'Local-gov | Never-worked | Private | … 3 more'
    WHEN CONTAINS(CAST("workclass" AS TEXT), CHR(0))
    THEN '(other)'
    WHEN NFC_NORMALIZE(CAST("workclass" AS TEXT)) IN ('Federal-gov', 'Self-emp-inc')
    THEN 'Federal-gov | Self-emp-inc'
    WHEN NFC_NORMALIZE(CAST("workclass" AS TEXT)) IN (
      'Local-gov',
      'Never-worked',
      'Private',
      'Self-emp-not-inc',
      'State-gov',
      'Without-pay'
    )
    THEN 'Local-gov | Never-worked | Private | … 3 more'
    ELSE '(other)'
  END AS "workclass",
  CASE
    WHEN "education" IS NULL
    THEN '(missing)'
    WHEN CONTAINS(CAST("education" AS TEXT), CHR(0))
    THEN '(other)'
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
    THEN '10th | 11th | 12th | 1st-4th | 5th-6th | 7th-8th | … 5 more'
    WHEN NFC_NORMALIZE(CAST("education" AS TEXT)) IN ('Assoc-acdm', 'Bachelors', 'Doctorate', 'Masters', 'Prof-school')
    THEN 'Assoc-acdm | Bachelors | Doctorate | Masters | Prof-school'
    ELSE '(other)'
  END AS "education",
  CASE
    WHEN "marital-status" IS NULL
    THEN '(missing)'
    WHEN CONTAINS(CAST("marital-status" AS TEXT), CHR(0))
    THEN '(other)'
    WHEN NFC_NORMALIZE(CAST("marital-status" AS TEXT)) IN (
      'Divorced',
      'Married-AF-spouse',
      'Married-spouse-absent',
      'Never-married',
      'Widowed'
    )
    THEN 'Divorced | Married-AF-spouse | … 3 more'
    WHEN NFC_NORMALIZE(CAST("marital-status" AS TEXT)) IN ('Married-civ-spouse', 'Separated')
    THEN 'Married-civ-spouse | Separated'
    ELSE '(other)'
  END AS "marital-status",
  CASE
    WHEN "occupation" IS NULL
    THEN 'Farming-fishing | Handlers-cleaners | … 3 more'
    WHEN CONTAINS(CAST("occupation" AS TEXT), CHR(0))
    THEN '(other)'
    WHEN NFC_NORMALIZE(CAST("occupation" AS TEXT)) IN ('Adm-clerical', 'Armed-Forces', 'Craft-repair', 'Machine-op-inspct', 'Sales')
    THEN 'Adm-clerical | Armed-Forces | Craft-repair | … 2 more'
    WHEN NFC_NORMALIZE(CAST("occupation" AS TEXT)) IN ('Exec-managerial', 'Prof-specialty', 'Protective-serv', 'Tech-support')
    THEN 'Exec-managerial | Prof-specialty | … 2 more'
    WHEN NFC_NORMALIZE(CAST("occupation" AS TEXT)) IN (
      'Farming-fishing',
      'Handlers-cleaners',
      'Other-service',
      'Priv-house-serv',
      'Transport-moving'
    )
    THEN 'Farming-fishing | Handlers-cleaners | … 3 more'
    ELSE '(other)'
  END AS "occupation",
  CASE
    WHEN "capital-gain" IS NULL OR ISNAN(CAST("capital-gain" AS DOUBLE))
    THEN '(missing)'
    WHEN CAST("capital-gain" AS DOUBLE) <= 7000
    THEN '≤ 7000'
    ELSE '≥ 7001'
  END AS "capital-gain",
  CASE
    WHEN "capital-loss" IS NULL OR ISNAN(CAST("capital-loss" AS DOUBLE))
    THEN '(missing)'
    WHEN CAST("capital-loss" AS DOUBLE) <= 1846
    THEN '≤ 1846'
    ELSE '≥ 1847'
  END AS "capital-loss",
  CASE
    WHEN "hours-per-week" IS NULL OR ISNAN(CAST("hours-per-week" AS DOUBLE))
    THEN '(missing)'
    WHEN CAST("hours-per-week" AS DOUBLE) <= 40.5e0
    THEN '≤ 40'
    WHEN CAST("hours-per-week" AS DOUBLE) <= 43.5e0
    THEN '41–43'
    WHEN CAST("hours-per-week" AS DOUBLE) <= 44.5e0
    THEN '44'
    ELSE '≥ 45'
  END AS "hours-per-week"
FROM "people"
