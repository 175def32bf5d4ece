"""Conversations and their messages: lists, feedback and summaries."""
