"""The tool family."""
