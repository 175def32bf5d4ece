"""What one process does besides its own runs: it takes queued runs that others have opened."""
