SELECT
  CASE
    WHEN `it's "age"` IS NULL OR ISNAN(CAST(`it's "age"` AS DOUBLE))
    THEN NULL
    WHEN CAST(`it's "age"` AS DOUBLE) <= 37.5e0
    THEN 27
    WHEN CAST(`it's "age"` AS DOUBLE) <= 57.5e0
    THEN 47
    ELSE 67
  END AS `it's "age"`,
  CASE
    WHEN `</script>` IS NULL
    THEN NULL
    WHEN CAST(`</script>` AS STRING) IN ('', '__proto__', 'a"b`c')
    THEN '__proto__'
    WHEN CAST(`</script>` AS STRING) IN ('%s $1 ? {{x}}', 'null')
    THEN '%s $1 ? {{x}}'
    WHEN CAST(`</script>` AS STRING) IN ('\'; DROP TABLE people; --', '</script><b>', 'é', 'é')
    THEN '\'; DROP TABLE people; --'
    ELSE '\'; DROP TABLE people; --'
  END AS `</script>`,
  CASE
    WHEN `größe; --` IS NULL OR ISNAN(CAST(`größe; --` AS DOUBLE))
    THEN NULL
    WHEN CAST(`größe; --` AS DOUBLE) <= 2.05e0
    THEN 1
    WHEN CAST(`größe; --` AS DOUBLE) <= 3.95e0
    THEN 3
    ELSE 4.9e0
  END AS `größe; --`,
  CASE
    WHEN `born` IS NULL
    THEN NULL
    WHEN CAST(`born` AS TIMESTAMP_NTZ) <= CAST('1956-08-01 00:00:00' AS TIMESTAMP_NTZ)
    THEN CAST('1953-01-01 00:00:00' AS TIMESTAMP_NTZ)
    WHEN CAST(`born` AS TIMESTAMP_NTZ) <= CAST('1963-05-01 00:00:00' AS TIMESTAMP_NTZ)
    THEN CAST('1960-01-01 00:00:00' AS TIMESTAMP_NTZ)
    ELSE CAST('1966-08-01 00:00:00' AS TIMESTAMP_NTZ)
  END AS `born`,
  CASE
    WHEN `school` IS NULL
    THEN NULL
    WHEN CAST(`school` AS STRING) = 'none'
    THEN 'none'
    WHEN CAST(`school` AS STRING) = 'basic'
    THEN 'basic'
    WHEN CAST(`school` AS STRING) = 'higher'
    THEN 'higher'
    ELSE 'none'
  END AS `school`,
  CASE
    WHEN `constructor` IS NULL
    THEN NULL
    WHEN CAST(`constructor` AS STRING) = 'false'
    THEN FALSE
    WHEN CAST(`constructor` AS STRING) = 'true'
    THEN TRUE
    ELSE FALSE
  END AS `constructor`
FROM `people`
