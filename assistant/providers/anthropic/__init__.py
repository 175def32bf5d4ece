"""Anthropic Messages, through the `anthropic` package."""
