"""Phase 1 of PriSM (papers/3 §3): what is counted, measured and searched to find sets that reveal."""
