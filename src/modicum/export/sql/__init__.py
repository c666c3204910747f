"""Export artifacts as SQL: a SELECT of the buckets, in five dialects."""
