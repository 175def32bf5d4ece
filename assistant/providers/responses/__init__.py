"""OpenAI's Responses wire format: `ResponsesModel`, its request bodies, and replies assembled from its events."""

from assistant.providers.responses.model import ResponsesModel

__all__ = ["ResponsesModel"]
