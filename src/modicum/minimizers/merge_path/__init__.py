"""MergePath: merge buckets from much detail to none, each time at the best price."""
