"""What several server processes share, in Redis: the log of events, and counts of open connections."""
