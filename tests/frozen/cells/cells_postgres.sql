SELECT
  CASE
    WHEN "modicum_cell" IN (0, 1, 4)
    THEN '(any)'
    WHEN "modicum_cell" = 2
    THEN '≤ 40 or (missing)'
    WHEN "modicum_cell" = 3
    THEN '≥ 41'
  END AS "age",
  CASE
    WHEN "modicum_cell" IN (0, 4)
    THEN '(any)'
    WHEN "modicum_cell" = 1
    THEN '10th | 11th | 12th | 1st-4th | 5th-6th | 7th-8th | … 5 more or (other) or (missing)'
    WHEN "modicum_cell" IN (2, 3)
    THEN 'Bachelors | Doctorate | Masters | Prof-school'
  END AS "education",
  CASE
    WHEN "modicum_cell" = 0
    THEN '≤ 49 or (missing)'
    WHEN "modicum_cell" IN (1, 2, 3)
    THEN '≥ 50'
    WHEN "modicum_cell" = 4
    THEN '(any)'
  END AS "hours-per-week",
  CASE
    WHEN "modicum_cell" IN (0, 1, 2, 3)
    THEN '≤ 5000 or (missing)'
    WHEN "modicum_cell" = 4
    THEN '≥ 5001'
  END AS "capital-gain"
FROM (
  SELECT
    CASE
      WHEN "modicum_cell_2" IN (0, 2) AND "modicum_cell_3" IN (0, 2)
      THEN 0
      WHEN "modicum_cell_1" IN (0, 2, 3)
      AND "modicum_cell_2" = 1
      AND "modicum_cell_3" IN (0, 2)
      THEN 1
      WHEN "modicum_cell_0" IN (0, 2)
      AND "modicum_cell_1" = 1
      AND "modicum_cell_2" = 1
      AND "modicum_cell_3" IN (0, 2)
      THEN 2
      WHEN "modicum_cell_0" = 1
      AND "modicum_cell_1" = 1
      AND "modicum_cell_2" = 1
      AND "modicum_cell_3" IN (0, 2)
      THEN 3
      ELSE 4
    END AS "modicum_cell"
  FROM (
    SELECT
      CASE
        WHEN "age" IS NULL
        OR CAST("age" AS DOUBLE PRECISION) = CAST('NaN' AS DOUBLE PRECISION)
        THEN 2
        WHEN CAST("age" AS DOUBLE PRECISION) <= 40.5e0
        THEN 0
        ELSE 1
      END AS "modicum_cell_0",
      CASE
        WHEN "education" IS NULL
        THEN 3
        WHEN NORMALIZE(CAST("education" AS TEXT), NFC) IN (
          '10th',
          '11th',
          '12th',
          '1st-4th',
          '5th-6th',
          '7th-8th',
          '9th',
          'Assoc-acdm',
          'Assoc-voc',
          'HS-grad',
          'Some-college'
        )
        THEN 0
        WHEN NORMALIZE(CAST("education" AS TEXT), NFC) IN ('Bachelors', 'Doctorate', 'Masters', 'Prof-school')
        THEN 1
        ELSE 2
      END AS "modicum_cell_1",
      CASE
        WHEN "hours-per-week" IS NULL
        OR CAST("hours-per-week" AS DOUBLE PRECISION) = CAST('NaN' AS DOUBLE PRECISION)
        THEN 2
        WHEN CAST("hours-per-week" AS DOUBLE PRECISION) <= 49.5e0
        THEN 0
        ELSE 1
      END AS "modicum_cell_2",
      CASE
        WHEN "capital-gain" IS NULL
        OR CAST("capital-gain" AS DOUBLE PRECISION) = CAST('NaN' AS DOUBLE PRECISION)
        THEN 2
        WHEN CAST("capital-gain" AS DOUBLE PRECISION) <= 5000
        THEN 0
        ELSE 1
      END AS "modicum_cell_3"
    FROM "people"
  ) AS "buckets"
) AS "cells"
