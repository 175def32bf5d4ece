"""A client with a session whose connection breaks during a call goes on reading its stream, and nobody else's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.live import Server
from tests.mcp.talking import OLDER, Client, headers, message

pytestmark = pytest.mark.django_db(transaction=True)


class Session(Client):
    """A client of 2025-11-25 that has initialised."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key, version=OLDER)
        about = {"protocolVersion": OLDER, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        opened = self.post("initialize", about)
        self.headers = {**headers(key, version=OLDER), "mcp-session-id": opened.headers["mcp-session-id"]}
        started = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert self.http.post(self.url, json=started, headers=self.headers).is_success

    def stream(self, method: str, params: Any = None, *, after: str = "") -> Any:
        """Send a request, or without a method read on after an event."""
        sent = {**self.headers, **({"last-event-id": after} if after else {})}
        body = message(method, params, version=OLDER) if method else None
        return self.http.stream("POST" if method else "GET", self.url, json=body, headers=sent)


def sse(response: httpx2.Response) -> Iterator[dict[str, str]]:
    """The events of a stream, by the names of their fields."""
    event: dict[str, str] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(":")
            event[name] = value.strip()
        elif event:
            yield event
            event = {}


@pytest.fixture
def server(with_sessions: Server) -> Server:
    return with_sessions


@pytest.fixture
def sessions(server: Server, cast: Cast) -> tuple[Session, Session]:
    """Alice's, and another of the same tenant."""
    keys = [create_api_key(tenant=cast.acme, user=one, name="t", scopes=["tools"])[1] for one in (cast.alice, cast.amy)]
    alice, amy = (Session(server.url, key) for key in keys)
    return alice, amy


def test_a_broken_stream_is_read_on(sessions: tuple[Session, Session], tmp_path: Path) -> None:
    alice, _ = sessions
    file = tmp_path / "signal"
    call = {"name": "wait_for_file", "arguments": {"path": str(file)}, "_meta": {"progressToken": "p"}}
    with alice.stream("tools/call", call) as response:
        events = sse(response)
        first, begun = next(events), next(events)
    assert (first["data"], first["retry"]) == ("", "1000") and int(first["id"]) < int(begun["id"])
    assert json.loads(begun["data"])["params"]["message"] == "begun"
    file.touch()
    with alice.stream("", after=begun["id"]) as response:
        told = []
        for event in sse(response):
            told += [json.loads(event["data"])] if event.get("data") else []
            if "result" in (told or [{}])[-1]:
                break
    assert told[0]["params"]["message"] == "found"
    assert told[-1]["result"]["content"][0]["text"] == "It is there."
    with alice.stream("", after=first["id"]) as response:
        repeated = next(event for event in sse(response) if event.get("data"))
    assert json.loads(repeated["data"])["params"]["message"] == "begun"


def test_another_session_reads_nothing_of_it(sessions: tuple[Session, Session], tmp_path: Path) -> None:
    alice, amy = sessions
    file = tmp_path / "signal"
    file.touch()
    call = {"name": "wait_for_file", "arguments": {"path": str(file)}, "_meta": {"progressToken": "p"}}
    with alice.stream("tools/call", call) as response:
        first, *_ = sse(response)
    with amy.stream("", after=first["id"]) as response:
        assert [event for event in sse(response) if "It is there" in event.get("data", "")] == []
    taken = {**amy.headers, "mcp-session-id": alice.headers["mcp-session-id"], "last-event-id": first["id"]}
    assert amy.http.get(amy.url, headers=taken).status_code == 404
