"""Phase 1 of PriSM [Barbato25 §3]: find the attribute sets that reveal a sensitive attribute."""
