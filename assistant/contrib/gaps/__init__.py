"""What a tenant's documents do not answer: open questions, documents that nobody reaches, and doubtful ones."""
