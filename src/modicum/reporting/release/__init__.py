"""The report on a k-anonymous release."""
