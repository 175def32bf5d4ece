"""The addresses of OpenAI's APIs, which may stand below another path."""

from __future__ import annotations

PREFIX = "v1/"
# Where files are uploaded, and where clients send their history with all of its files.
UPLOADS = ("v1/files", "v1/chat/completions", "v1/responses")
# The name of the URL pattern that websockets have too.
RESPONSES = "responses"
