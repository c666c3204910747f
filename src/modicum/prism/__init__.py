"""PriSM (papers/3): a classifier that needs neither a sensitive attribute nor any attributes that reveal it."""
