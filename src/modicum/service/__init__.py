"""The collection service, which accepts and stores generalized records only."""
