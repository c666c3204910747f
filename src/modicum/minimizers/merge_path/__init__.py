"""MergePath: from much detail to none by merging buckets, each merge at the best price."""
