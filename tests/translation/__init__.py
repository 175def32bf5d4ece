"""Extracts the texts that people read, and keeps, compiles and checks their translations. See docs/contributing.md."""
