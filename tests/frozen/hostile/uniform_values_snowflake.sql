SELECT
  CASE
    WHEN "it's ""age""" IS NULL OR CAST("it's ""age""" AS DOUBLE) = CAST('NaN' AS DOUBLE)
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
    WHEN CAST("</script>" AS VARCHAR) IN ('', '__proto__', 'a"b`c')
    THEN '__proto__'
    WHEN CAST("</script>" AS VARCHAR) IN ('%s $1 ? {{x}}', 'null')
    THEN '%s $1 ? {{x}}'
    WHEN CAST("</script>" AS VARCHAR) IN ('\'; DROP TABLE people; --', '</script><b>', 'é', 'é')
    THEN '\'; DROP TABLE people; --'
    ELSE '\'; DROP TABLE people; --'
  END AS "</script>",
  CASE
    WHEN "größe; --" IS NULL OR CAST("größe; --" AS DOUBLE) = CAST('NaN' AS DOUBLE)
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
    WHEN CAST("born" AS TIMESTAMPNTZ) <= CAST('1956-08-01 00:00:00' AS TIMESTAMPNTZ)
    THEN CAST('1953-01-01 00:00:00' AS TIMESTAMPNTZ)
    WHEN CAST("born" AS TIMESTAMPNTZ) <= CAST('1963-05-01 00:00:00' AS TIMESTAMPNTZ)
    THEN CAST('1960-01-01 00:00:00' AS TIMESTAMPNTZ)
    ELSE CAST('1966-08-01 00:00:00' AS TIMESTAMPNTZ)
  END AS "born",
  CASE
    WHEN "school" IS NULL
    THEN NULL
    WHEN CAST("school" AS VARCHAR) = 'none'
    THEN 'none'
    WHEN CAST("school" AS VARCHAR) = 'basic'
    THEN 'basic'
    WHEN CAST("school" AS VARCHAR) = 'higher'
    THEN 'higher'
    ELSE 'none'
  END AS "school",
  CASE
    WHEN "constructor" IS NULL
    THEN NULL
    WHEN CAST("constructor" AS VARCHAR) = 'false'
    THEN FALSE
    WHEN CAST("constructor" AS VARCHAR) = 'true'
    THEN TRUE
    ELSE FALSE
  END AS "constructor"
FROM "people"
