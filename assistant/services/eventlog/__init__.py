"""The numbered log of a run's events: in memory, with files, or in Redis."""
