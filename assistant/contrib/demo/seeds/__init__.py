"""What `assistant_seed` fills a database with."""
