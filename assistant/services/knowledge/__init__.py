"""A tenant's documents: stored, cut into passages, searched by full text."""
