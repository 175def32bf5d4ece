"""What the tools over the project's models do."""
