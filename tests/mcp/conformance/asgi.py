"""The site, with a key for callers that can send none: `/as/<name>/mcp/` is `/mcp/` with that name's key."""

from __future__ import annotations

import json
import os
from typing import Any

from config.asgi import application as site

KEYS = json.loads(os.environ["CONFORMANCE_KEYS"])


async def application(scope: Any, receive: Any, send: Any) -> None:
    parts = scope.get("path", "").split("/", 3)
    if scope["type"] == "http" and parts[1:2] == ["as"]:
        key = (b"authorization", f"Bearer {KEYS[parts[2]]}".encode())
        scope = {**scope, "path": f"/{parts[3]}", "headers": [*scope["headers"], key]}
    await site(scope, receive, send)
