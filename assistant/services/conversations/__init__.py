"""Conversations and their messages: lists, export, feedback and summaries."""
