"""The HTTP doors for programs."""
