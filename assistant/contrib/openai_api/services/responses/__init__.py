"""Responses: runs of callers who speak OpenAI's Responses API, which they read, continue and delete by their ids."""
