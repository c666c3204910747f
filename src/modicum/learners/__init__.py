"""Models on coded rows with counts: they guess values from what a generalization shows."""
