"""What is read of how models answer."""
