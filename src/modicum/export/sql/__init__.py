"""An artifact as SQL: one SELECT that gives the buckets where the data is, in five dialects."""
