"""The command line. No other package imports it, and only it prints."""
