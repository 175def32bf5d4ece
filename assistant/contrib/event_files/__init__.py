"""The events of running runs in files, beside an SQLite database: readable after the process that wrote them died."""
