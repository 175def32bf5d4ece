"""What `assistant_seed` makes of external MCP servers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import Model

from assistant.contrib.mcp_servers.models import McpServer, McpTool
from assistant.mcp_client import ToolDefinition
from assistant.models import PromptVersion

TIMED: tuple[type[Model], ...] = ()
TOOLS = ("find_person", "add_note", "list_deals", "close_deal")


def rows_of(chance: random.Random, draft: PromptVersion, owner: Any, now: datetime) -> Iterator[Model]:
    """Yield an unsaved server of a tenant, and its tools, which are all allowed."""
    server = McpServer(
        tenant=draft.assistant.tenant, name="crm", prefix="crm", url="https://crm.example.com/mcp", is_active=True
    )
    yield server
    for name in TOOLS:
        definition = ToolDefinition(name, description=f"{name.replace('_', ' ').capitalize()}.")
        state = definition.to_state()
        digest = definition.digest
        accepted = {"accepted": state, "accepted_digest": digest, "is_allowed": True}
        yield McpTool(server=server, name=name, definition=state, digest=digest, **accepted)
