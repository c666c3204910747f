"""The commands. Nothing imports this package; `print` lives only here."""
