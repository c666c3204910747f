"""Buckets and classifier trained together with PyTorch [Staab24 Appendix C]."""
