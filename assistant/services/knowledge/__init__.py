"""A tenant's documents: storing them, splitting them into passages, full-text search."""
