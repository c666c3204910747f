"""The report on an anatomized release."""
