"""Work that may hang or grow without end, in child processes with limits."""
