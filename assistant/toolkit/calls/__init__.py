"""One tool call: its arguments, its execution and its result."""
