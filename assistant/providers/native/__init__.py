"""What the adapters of Anthropic's and Google's own wire formats share."""
