"""Phase 1 of PriSM (papers/3 §3): find the attribute sets that reveal a sensitive attribute."""
