"""An app of the test suite's settings: how the database is emptied after a test whose rows were committed."""
