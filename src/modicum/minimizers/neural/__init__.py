"""Buckets and classifier trained together with PyTorch (papers/0 Appendix C)."""
