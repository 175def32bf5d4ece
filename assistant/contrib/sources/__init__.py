"""Folders and websites whose files and pages are documents, read again on schedule: an optional app."""
