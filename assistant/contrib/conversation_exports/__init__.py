"""Conversations as files: exported as Markdown or JSON, and imported from such JSON again."""
