"""Match people to the sensitive values of their group (papers/4)."""
