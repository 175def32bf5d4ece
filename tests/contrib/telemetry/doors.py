"""Every door at which a caller may begin a run, or have one go on, as a client uses it.

Each function has the model asked in the trace that its request names; what comes before names none.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import connect

from tests.agui_clients.door import RUNS
from tests.contrib.end_users.minting import SHOP, allow, backend, token_for
from tests.contrib.telemetry.site import Site
from tests.factories import make_conversation, switch_tool
from tests.trace_parent import PARENT
from tests.ws import open_socket, run_input

Door = Callable[[Site], None]
EVENTS = RUNS.format(tenant="acme")
QUESTION = [{"role": "user", "content": "Hello"}]


def websocket(site: Site) -> None:
    async def ask() -> None:
        async with open_socket(site.server.url, key=site.key, headers=PARENT) as socket:
            await socket.ask("Hello")

    asyncio.run(ask())


def event_stream(site: Site) -> None:
    site.post(EVENTS, run_input("Hello"))


def event_stream_of_an_end_user(site: Site) -> None:
    allow(site.cast.support)
    site.post(EVENTS, run_input("Hello"), token=token_for(backend(site.cast), "customer-1"), origin=SHOP)


def rest(site: Site) -> None:
    talk = make_conversation(site.cast.alice, site.cast.support)
    site.post(f"/api/v1/tenants/acme/conversations/{talk.pk}/runs/", {"message": "Hello"})


def _open_approval(site: Site) -> tuple[str, dict[str, Any]]:
    """Ask for what has to be approved, outside of the trace; return the run's input, and the interrupt."""
    switch_tool(site.cast.acme, "calculate", "ask")
    site.model.call("calculate", {"expression": "6*7"})
    asked = run_input("6*7?")
    told = site.post(EVENTS, asked, named=False).text
    (last,) = [json.loads(line[6:]) for line in told.splitlines() if line.startswith("data: ") and "outcome" in line]
    return asked, last["outcome"]["interrupts"][0]


def approval_over_rest(site: Site) -> None:
    asked, interrupt = _open_approval(site)
    body = {"decisions": [{"call_id": interrupt["toolCallId"], "approved": True}]}
    site.post(f"/api/v1/tenants/acme/runs/{asked['runId']}/approvals/", body)


def approval_over_events(site: Site) -> None:
    asked, interrupt = _open_approval(site)
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
    given = {**run_input("", thread=asked["threadId"]), "messages": [], "resume": resume}
    site.post(EVENTS, given)


def chat_completions(site: Site) -> None:
    site.post("/v1/chat/completions", {"model": "support", "messages": QUESTION})


def chat_completions_streamed(site: Site) -> None:
    site.post("/v1/chat/completions", {"model": "support", "messages": QUESTION, "stream": True})


def responses(site: Site) -> None:
    site.post("/v1/responses", {"model": "support", "input": "Hello"})


def responses_streamed(site: Site) -> None:
    site.post("/v1/responses", {"model": "support", "input": "Hello", "stream": True})


def responses_in_background(site: Site) -> None:
    site.post("/v1/responses", {"model": "support", "input": "Hello", "background": True})


def responses_not_stored(site: Site) -> None:
    site.post("/v1/responses", {"model": "support", "input": "Hello", "store": False})


def responses_over_a_websocket(site: Site) -> None:
    async def ask() -> None:
        headers = {"Authorization": f"Bearer {site.key}", **PARENT}
        url = site.server.url.replace("http", "ws", 1) + "/v1/responses"
        async with connect(url, additional_headers=headers) as socket:
            await socket.send(json.dumps({"type": "response.create", "model": "support", "input": "Hello"}))
            while json.loads(await socket.recv())["type"] != "response.completed":
                pass

    asyncio.run(ask())


DOORS: tuple[Door, ...] = (
    websocket,
    event_stream,
    event_stream_of_an_end_user,
    rest,
    approval_over_rest,
    approval_over_events,
    chat_completions,
    chat_completions_streamed,
    responses,
    responses_streamed,
    responses_in_background,
    responses_not_stored,
    responses_over_a_websocket,
)
