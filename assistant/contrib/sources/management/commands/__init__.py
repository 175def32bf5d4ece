"""Commands of folders and websites."""
