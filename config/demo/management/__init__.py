"""The command of the demo."""
