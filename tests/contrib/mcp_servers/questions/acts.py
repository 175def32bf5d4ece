"""What the tests of external servers' questions in chats share: a server that asks, and the chat that is asked."""

from __future__ import annotations

from typing import Any

from assistant.contrib.mcp_servers.models import McpServer
from tests.agui import Frame
from tests.base import Cast
from tests.contrib.mcp_servers.allowing import add_server, allow, look
from tests.fake_provider import FakeProvider
from tests.mcp.outside import Outside
from tests.ws import Socket


async def add(cast: Cast, asking: Outside, *tools: str, needs_approval: bool = False, **fields: Any) -> McpServer:
    """Add the server to Acme, and allow these of its tools."""
    server = await add_server(cast.acme, asking, **{"asks_people": True, **fields})
    await look(server)
    await allow(server, *tools, needs_approval=needs_approval)
    return server


async def asked(socket: Socket, fake_provider: FakeProvider, tool: str) -> tuple[str, Frame]:
    """Return the thread and the interrupt with which a call of the tool ends."""
    fake_provider.call(f"crm__{tool}", {"what": "a trip"})
    frames = await socket.ask("Book it")
    (interrupt,) = frames[-1]["outcome"]["interrupts"]
    return frames[0]["threadId"], interrupt


def result_in(fake_provider: FakeProvider) -> str:
    """Return the last tool result that the model was sent."""
    messages = fake_provider.requests[-1].json["messages"]
    return str([message["content"] for message in messages if message["role"] == "tool"][-1])
