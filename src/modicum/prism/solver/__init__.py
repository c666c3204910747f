"""Phase 2 of PriSM [Barbato25 §4]: the best allowed support, and its proof."""
