SELECT
  CASE
    WHEN `age` IS NULL OR IS_NAN(CAST(`age` AS FLOAT64))
    THEN '(missing)'
    WHEN CAST(`age` AS FLOAT64) <= 33.5e0
    THEN '≤ 33'
    ELSE '≥ 34'
  END AS `age`,
  CASE
    WHEN `workclass` IS NULL
    THEN 'Local-gov | Never-worked | Private | … 3 more'
    WHEN NORMALIZE(CAST(`workclass` AS STRING), NFC) IN ('Federal-gov', 'Self-emp-inc')
    THEN 'Federal-gov | Self-emp-inc'
    WHEN NORMALIZE(CAST(`workclass` AS STRING), NFC) IN (
      'Local-gov',
      'Never-worked',
      'Private',
      'Self-emp-not-inc',
      'State-gov',
      'Without-pay'
    )
    THEN 'Local-gov | Never-worked | Private | … 3 more'
    ELSE '(other)'
  END AS `workclass`,
  CASE
    WHEN `education` IS NULL
    THEN '(missing)'
    WHEN NORMALIZE(CAST(`education` AS STRING), NFC) IN (
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
    WHEN NORMALIZE(CAST(`education` AS STRING), NFC) IN ('Assoc-acdm', 'Bachelors', 'Doctorate', 'Masters', 'Prof-school')
    THEN 'Assoc-acdm | Bachelors | Doctorate | Masters | Prof-school'
    ELSE '(other)'
  END AS `education`,
  CASE
    WHEN `marital-status` IS NULL
    THEN '(missing)'
    WHEN NORMALIZE(CAST(`marital-status` AS STRING), NFC) IN (
      'Divorced',
      'Married-AF-spouse',
      'Married-spouse-absent',
      'Never-married',
      'Widowed'
    )
    THEN 'Divorced | Married-AF-spouse | … 3 more'
    WHEN NORMALIZE(CAST(`marital-status` AS STRING), NFC) IN ('Married-civ-spouse', 'Separated')
    THEN 'Married-civ-spouse | Separated'
    ELSE '(other)'
  END AS `marital-status`,
  CASE
    WHEN `occupation` IS NULL
    THEN 'Farming-fishing | Handlers-cleaners | … 3 more'
    WHEN NORMALIZE(CAST(`occupation` AS STRING), NFC) IN ('Adm-clerical', 'Armed-Forces', 'Craft-repair', 'Machine-op-inspct', 'Sales')
    THEN 'Adm-clerical | Armed-Forces | Craft-repair | … 2 more'
    WHEN NORMALIZE(CAST(`occupation` AS STRING), NFC) IN ('Exec-managerial', 'Prof-specialty', 'Protective-serv', 'Tech-support')
    THEN 'Exec-managerial | Prof-specialty | … 2 more'
    WHEN NORMALIZE(CAST(`occupation` AS STRING), NFC) IN (
      'Farming-fishing',
      'Handlers-cleaners',
      'Other-service',
      'Priv-house-serv',
      'Transport-moving'
    )
    THEN 'Farming-fishing | Handlers-cleaners | … 3 more'
    ELSE '(other)'
  END AS `occupation`,
  CASE
    WHEN `capital-gain` IS NULL OR IS_NAN(CAST(`capital-gain` AS FLOAT64))
    THEN '(missing)'
    WHEN CAST(`capital-gain` AS FLOAT64) <= 7000
    THEN '≤ 7000'
    ELSE '≥ 7001'
  END AS `capital-gain`,
  CASE
    WHEN `capital-loss` IS NULL OR IS_NAN(CAST(`capital-loss` AS FLOAT64))
    THEN '(missing)'
    WHEN CAST(`capital-loss` AS FLOAT64) <= 1846
    THEN '≤ 1846'
    ELSE '≥ 1847'
  END AS `capital-loss`,
  CASE
    WHEN `hours-per-week` IS NULL OR IS_NAN(CAST(`hours-per-week` AS FLOAT64))
    THEN '(missing)'
    WHEN CAST(`hours-per-week` AS FLOAT64) <= 40.5e0
    THEN '≤ 40'
    WHEN CAST(`hours-per-week` AS FLOAT64) <= 43.5e0
    THEN '41–43'
    WHEN CAST(`hours-per-week` AS FLOAT64) <= 44.5e0
    THEN '44'
    ELSE '≥ 45'
  END AS `hours-per-week`
FROM `people`
