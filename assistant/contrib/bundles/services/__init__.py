"""A tenant's or an assistant's configuration as one file, exported and imported with a difference shown first."""
