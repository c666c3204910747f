SELECT
  CASE
    WHEN "it's ""age""" IS NULL
    OR CAST("it's ""age""" AS DOUBLE PRECISION) = CAST('NaN' AS DOUBLE PRECISION)
    THEN NULL
    WHEN CAST("it's ""age""" AS DOUBLE PRECISION) <= 37.5e0
    THEN 27
    WHEN CAST("it's ""age""" AS DOUBLE PRECISION) <= 57.5e0
    THEN 47
    ELSE 67
  END AS "it's ""age""",
  CASE
    WHEN "</script>" IS NULL
    THEN NULL
    WHEN NORMALIZE(CAST("</script>" AS TEXT), NFC) IN ('', '__proto__', 'a"b`c')
    THEN '__proto__'
    WHEN NORMALIZE(CAST("</script>" AS TEXT), NFC) IN ('%s $1 ? {{x}}', 'null')
    THEN '%s $1 ? {{x}}'
    WHEN NORMALIZE(CAST("</script>" AS TEXT), NFC) IN ('''; DROP TABLE people; --', '</script><b>', 'é')
    THEN '''; DROP TABLE people; --'
    ELSE '''; DROP TABLE people; --'
  END AS "</script>",
  CASE
    WHEN "größe; --" IS NULL
    OR CAST("größe; --" AS DOUBLE PRECISION) = CAST('NaN' AS DOUBLE PRECISION)
    THEN NULL
    WHEN CAST("größe; --" AS DOUBLE PRECISION) <= 2.05e0
    THEN 1
    WHEN CAST("größe; --" AS DOUBLE PRECISION) <= 3.95e0
    THEN 3
    ELSE 4.9e0
  END AS "größe; --",
  CASE
    WHEN "born" IS NULL
    THEN NULL
    WHEN CAST("born" AS TIMESTAMP) <= CAST('1956-08-01 00:00:00' AS TIMESTAMP)
    THEN CAST('1953-01-01 00:00:00' AS TIMESTAMP)
    WHEN CAST("born" AS TIMESTAMP) <= CAST('1963-05-01 00:00:00' AS TIMESTAMP)
    THEN CAST('1960-01-01 00:00:00' AS TIMESTAMP)
    ELSE CAST('1966-08-01 00:00:00' AS TIMESTAMP)
  END AS "born",
  CASE
    WHEN "school" IS NULL
    THEN NULL
    WHEN NORMALIZE(CAST("school" AS TEXT), NFC) = 'none'
    THEN 'none'
    WHEN NORMALIZE(CAST("school" AS TEXT), NFC) = 'basic'
    THEN 'basic'
    WHEN NORMALIZE(CAST("school" AS TEXT), NFC) = 'higher'
    THEN 'higher'
    ELSE 'none'
  END AS "school",
  CASE
    WHEN "constructor" IS NULL
    THEN NULL
    WHEN CAST("constructor" AS TEXT) = 'false'
    THEN FALSE
    WHEN CAST("constructor" AS TEXT) = 'true'
    THEN TRUE
    ELSE FALSE
  END AS "constructor"
FROM "people"
