"""Asks for tools, and answers."""
