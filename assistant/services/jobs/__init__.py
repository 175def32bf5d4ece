"""Work at a moment, done once by one of all processes."""
