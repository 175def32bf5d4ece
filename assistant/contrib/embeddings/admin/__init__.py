"""What the control panel shows of embeddings."""
