"""Match people to the sensitive values of their group [Mancuhan16]."""
