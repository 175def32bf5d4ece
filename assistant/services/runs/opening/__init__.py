"""Opens a run: reads its input, checks it, and writes its first rows."""
