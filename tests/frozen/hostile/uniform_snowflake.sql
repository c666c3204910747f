SELECT
  CASE
    WHEN "it's ""age""" IS NULL OR CAST("it's ""age""" AS DOUBLE) = CAST('NaN' AS DOUBLE)
    THEN '(missing)'
    WHEN CAST("it's ""age""" AS DOUBLE) <= 37.5e0
    THEN '≤ 37'
    WHEN CAST("it's ""age""" AS DOUBLE) <= 57.5e0
    THEN '38–57'
    ELSE '≥ 58'
  END AS "it's ""age""",
  CASE
    WHEN "</script>" IS NULL
    THEN '(missing)'
    WHEN CAST("</script>" AS VARCHAR) IN ('', '__proto__', 'a"b`c')
    THEN ' | __proto__ | a"b`c'
    WHEN CAST("</script>" AS VARCHAR) IN ('%s $1 ? {{x}}', 'null')
    THEN '%s $1 ? {{x}} | null'
    WHEN CAST("</script>" AS VARCHAR) IN ('\'; DROP TABLE people; --', '</script><b>', 'é', 'é')
    THEN '\'; DROP TABLE people; -- | </script><b> | é'
    ELSE '(other)'
  END AS "</script>",
  CASE
    WHEN "größe; --" IS NULL OR CAST("größe; --" AS DOUBLE) = CAST('NaN' AS DOUBLE)
    THEN '(missing)'
    WHEN CAST("größe; --" AS DOUBLE) <= 2.05e0
    THEN '≤ 2.05'
    WHEN CAST("größe; --" AS DOUBLE) <= 3.95e0
    THEN '2.05–3.95'
    ELSE '> 3.95'
  END AS "größe; --",
  CASE
    WHEN "born" IS NULL
    THEN '(missing)'
    WHEN CAST("born" AS TIMESTAMPNTZ) <= CAST('1956-08-01 00:00:00' AS TIMESTAMPNTZ)
    THEN '≤ 1956-08-01'
    WHEN CAST("born" AS TIMESTAMPNTZ) <= CAST('1963-05-01 00:00:00' AS TIMESTAMPNTZ)
    THEN '1956-08-02 to 1963-05-01'
    ELSE '≥ 1963-05-02'
  END AS "born",
  CASE
    WHEN "school" IS NULL
    THEN '(missing)'
    WHEN CAST("school" AS VARCHAR) = 'none'
    THEN 'none'
    WHEN CAST("school" AS VARCHAR) = 'basic'
    THEN 'basic'
    WHEN CAST("school" AS VARCHAR) = 'higher'
    THEN 'higher'
    ELSE '(other)'
  END AS "school",
  CASE
    WHEN "constructor" IS NULL
    THEN '(missing)'
    WHEN CAST("constructor" AS VARCHAR) = 'false'
    THEN 'false'
    WHEN CAST("constructor" AS VARCHAR) = 'true'
    THEN 'true'
    ELSE '(other)'
  END AS "constructor"
FROM "people"
