"""The collection service: it takes generalized records only, and keeps them."""
