"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether documents are searched by meaning too. Off: nothing is embedded, and full text alone decides.
ASSISTANT_EMBEDDINGS = ENVIRONMENT.flag("ASSISTANT_EMBEDDINGS", False)
# What the vectors that are kept for searches may take in each process. Those of 100,000 passages take about 40 MB.
ASSISTANT_EMBEDDINGS_MEMORY_MB = ENVIRONMENT.number("ASSISTANT_EMBEDDINGS_MEMORY_MB", 256, least=16)

__all__ = ["ASSISTANT_EMBEDDINGS", "ASSISTANT_EMBEDDINGS_MEMORY_MB"]
