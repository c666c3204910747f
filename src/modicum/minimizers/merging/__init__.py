"""Merging buckets: records as cells, the best grouping of one attribute, and the path that they make together."""
