"""Conversations and their messages: listing, export, feedback, summaries."""
