"""Phase 2 of PriSM (papers/3 §4): the best support among those that are allowed, and the proof."""
