"""The REST API and event streams under /api, and the OpenAI-compatible API under /v1."""
