"""Phase 2 of PriSM [Barbato25 §4]: the best support among those that are allowed, and the proof."""
