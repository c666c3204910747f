SELECT
  CASE
    WHEN "it's ""age""" IS NULL OR ISNAN(CAST("it's ""age""" AS DOUBLE))
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
    WHEN CONTAINS(CAST("</script>" AS TEXT), CHR(0))
    THEN '(other)'
    WHEN NFC_NORMALIZE(CAST("</script>" AS TEXT)) IN ('', '__proto__', 'a"b`c')
    THEN ' | __proto__ | a"b`c'
    WHEN NFC_NORMALIZE(CAST("</script>" AS TEXT)) IN ('%s $1 ? {{x}}', 'null')
    THEN '%s $1 ? {{x}} | null'
    WHEN NFC_NORMALIZE(CAST("</script>" AS TEXT)) IN ('''; DROP TABLE people; --', '</script><b>', 'é')
    THEN '''; DROP TABLE people; -- | </script><b> | é'
    ELSE '(other)'
  END AS "</script>",
  CASE
    WHEN "größe; --" IS NULL OR ISNAN(CAST("größe; --" AS DOUBLE))
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
    WHEN CAST("born" AS TIMESTAMP) <= CAST('1956-08-01 00:00:00' AS TIMESTAMP)
    THEN '≤ 1956-08-01'
    WHEN CAST("born" AS TIMESTAMP) <= CAST('1963-05-01 00:00:00' AS TIMESTAMP)
    THEN '1956-08-02 to 1963-05-01'
    ELSE '≥ 1963-05-02'
  END AS "born",
  CASE
    WHEN "school" IS NULL
    THEN '(missing)'
    WHEN CONTAINS(CAST("school" AS TEXT), CHR(0))
    THEN '(other)'
    WHEN NFC_NORMALIZE(CAST("school" AS TEXT)) = 'none'
    THEN 'none'
    WHEN NFC_NORMALIZE(CAST("school" AS TEXT)) = 'basic'
    THEN 'basic'
    WHEN NFC_NORMALIZE(CAST("school" AS TEXT)) = 'higher'
    THEN 'higher'
    ELSE '(other)'
  END AS "school",
  CASE
    WHEN "constructor" IS NULL
    THEN '(missing)'
    WHEN CAST("constructor" AS TEXT) = 'false'
    THEN 'false'
    WHEN CAST("constructor" AS TEXT) = 'true'
    THEN 'true'
    ELSE '(other)'
  END AS "constructor"
FROM "people"
