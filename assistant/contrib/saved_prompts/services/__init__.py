"""What the app does with saved prompts."""
