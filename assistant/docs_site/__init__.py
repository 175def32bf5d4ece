"""The documentation as pages of the running site."""
