"""What is kept and read of the quality of answers."""
