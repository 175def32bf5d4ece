"""A calculator: a tool for exact arithmetic."""
