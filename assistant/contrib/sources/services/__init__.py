"""Reads folders and websites, and keeps the documents that their files and pages became."""
