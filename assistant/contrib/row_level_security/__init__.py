"""PostgreSQL's row-level security, as a second defence behind the filters of queries."""
