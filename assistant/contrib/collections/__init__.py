"""Collections of documents, and who may read them."""
