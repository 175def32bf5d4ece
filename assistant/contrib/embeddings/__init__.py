"""Search of documents by meaning: embeddings of passages, from a provider or from a small model on this machine."""
