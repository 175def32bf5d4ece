"""The addresses of OpenAI's APIs, which may stand below another path."""

from __future__ import annotations

import re

PREFIX = "v1/"
# Where files are uploaded, and where clients send their history with all of its files.
UPLOADS = ("v1/files", "v1/chat/completions", "v1/responses")
_RESPONSES = re.compile(r"/v1/responses\Z")


def is_responses(path: str) -> bool:
    """Return whether a websocket's path is that of the Responses API, wherever the app is mounted."""
    return _RESPONSES.search(path) is not None
