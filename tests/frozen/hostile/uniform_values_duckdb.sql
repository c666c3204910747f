SELECT
  CASE
    WHEN "it's ""age""" IS NULL OR ISNAN(CAST("it's ""age""" AS DOUBLE))
    THEN NULL
    WHEN CAST("it's ""age""" AS DOUBLE) <= 37.5e0
    THEN 27
    WHEN CAST("it's ""age""" AS DOUBLE) <= 57.5e0
    THEN 47
    ELSE 67
  END AS "it's ""age""",
  CASE
    WHEN "</script>" IS NULL
    THEN NULL
    WHEN CONTAINS(CAST("</script>" AS TEXT), CHR(0))
    THEN '''; DROP TABLE people; --'
    WHEN NFC_NORMALIZE(CAST("</script>" AS TEXT)) IN ('', '__proto__', 'a"b`c')
    THEN '__proto__'
    WHEN NFC_NORMALIZE(CAST("</script>" AS TEXT)) IN ('%s $1 ? {{x}}', 'null')
    THEN '%s $1 ? {{x}}'
    WHEN NFC_NORMALIZE(CAST("</script>" AS TEXT)) IN ('''; DROP TABLE people; --', '</script><b>', 'é')
    THEN '''; DROP TABLE people; --'
    ELSE '''; DROP TABLE people; --'
  END AS "</script>",
  CASE
    WHEN "größe; --" IS NULL OR ISNAN(CAST("größe; --" AS DOUBLE))
    THEN NULL
    WHEN CAST("größe; --" AS DOUBLE) <= 2.05e0
    THEN 1
    WHEN CAST("größe; --" AS DOUBLE) <= 3.95e0
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
    WHEN CONTAINS(CAST("school" AS TEXT), CHR(0))
    THEN 'none'
    WHEN NFC_NORMALIZE(CAST("school" AS TEXT)) = 'none'
    THEN 'none'
    WHEN NFC_NORMALIZE(CAST("school" AS TEXT)) = 'basic'
    THEN 'basic'
    WHEN NFC_NORMALIZE(CAST("school" AS TEXT)) = 'higher'
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
