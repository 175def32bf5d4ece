"""The REST API and event streams under /api."""
