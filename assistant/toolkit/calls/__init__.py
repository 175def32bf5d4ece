"""One tool call: its arguments, where it runs, its result."""
