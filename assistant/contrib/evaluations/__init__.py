"""Evaluations of prompts, and hostile checks of assistants."""
