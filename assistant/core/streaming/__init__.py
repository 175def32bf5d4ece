"""Writes the events of an answer while it arrives."""
