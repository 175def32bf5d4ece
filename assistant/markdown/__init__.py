"""Markdown as safe HTML, block by block while it streams; no tenants, no database."""
