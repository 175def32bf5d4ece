"""What is known of the quality of assistants: evaluations."""
