"""Every answer that the tables of docs/provider-quirks.md list, as the first of three turns of a thread."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from assistant.client import ChatClient, InMemoryStore, RunFailed
from assistant.core.turn import model_requests
from assistant.models import Provider
from assistant.providers import model_class
from tests.base import Cast
from tests.fake_answers import Answer, raw
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.providers.asking import offered
from tests.providers.cases.case import Case
from tests.providers.cases.test_answers import CaseServer
from tests.providers.native import quirks as native
from tests.providers.native.wires import WIRES, PickyServer
from tests.providers.quirks import QUIRKS, TOOLS
from tests.providers.responses import test_replies as responses
from tests.providers.responses.wire import ResponsesServer
from tests.ws import open_socket


class Row(Protocol):
    """A row of a table: its answer, and what comes of it."""

    @property
    def name(self) -> str: ...
    @property
    def body(self) -> bytes: ...
    @property
    def text(self) -> str: ...
    @property
    def calls(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def error(self) -> str: ...


@dataclass(frozen=True)
class Table:
    """The rows of one wire format, a model, and a server that refuses every invalid request."""

    model: str
    rows: tuple[Row, ...]
    serve: Callable[[Answer], Any]


def serve_chat(answer: Answer) -> CaseServer:
    return CaseServer(Case("row", (answer,)))


def serve_responses(answer: Answer) -> ResponsesServer:
    return ResponsesServer(lambda _request: answer)


def serve_native(name: str) -> Callable[[Answer], PickyServer]:
    return lambda answer: PickyServer(WIRES[name], answer)


TABLES = {
    "chat-completions": Table("gpt-4.1", tuple(QUIRKS), serve_chat),
    "responses": Table("gpt-5", tuple(responses.CASES), serve_responses),
    "anthropic": Table(WIRES["anthropic"].model, native.ANTHROPIC, serve_native("anthropic")),
    "google": Table(WIRES["google"].model, native.GOOGLE, serve_native("google")),
}
by_wire = pytest.mark.parametrize("wire", TABLES)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_requests, "FIRST_PAUSE", 0.0)


def problems(row: Row, server: Any, answers: list[str]) -> Iterator[str]:
    """Yield what went wrong in a thread that began with this row's answer."""
    refused: list[str] = getattr(server, "problems", None) or getattr(server, "refused", [])
    # The server of Responses does not know the reasoning of a row's answer, and is asked without it then.
    of_reasoning = ("Items are not persisted", "of type 'reasoning'")
    yield from (f"{row.name}: {one}" for one in refused if not any(known in one for known in of_reasoning))
    if answers[1:] != ["Fine."] * 2:
        yield f"{row.name}: the next answers are {answers[1:]}"
    if not (row.error or row.calls) and not answers[0].startswith(row.text):
        yield f"{row.name}: the answer is {answers[0]!r}"


@by_wire
async def test_a_thread_goes_on_after_every_row(fake_provider: FakeProvider, wire: str) -> None:
    table = TABLES[wire]
    wrong: list[str] = []
    for row in table.rows:
        fake_provider.rule(server := table.serve(raw(row.body)))
        model = model_class(wire)(table.model, base_url=fake_provider.url, api_key="", max_retries=0)
        client = ChatClient(model=model, tools=offered(*TOOLS), store=InMemoryStore())
        answers = []
        for text in ("One", "Two", "Three"):
            try:
                answers.append((await client.call(text, conversation="1")).text)
            except RunFailed:
                answers.append("")
        wrong += problems(row, server, answers)
    assert not wrong, "\n".join(wrong)


@pytest.mark.django_db(transaction=True)
@by_wire
async def test_a_tenants_thread_goes_on_after_every_row(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, wire: str
) -> None:
    table = TABLES[wire]
    wrong: list[str] = []
    await Provider.objects.filter(pk=provider.pk).aupdate(wire_format=wire, default_model=table.model)
    for row in table.rows:
        fake_provider.rule(server := table.serve(raw(row.body)))
        answers, thread = [], str(uuid.uuid4())
        async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
            for text in ("One", "Two", "Three"):
                frames = await socket.ask(text, thread=thread)
                shown = "".join(frame["delta"] for frame in frames if frame["type"] == "TEXT_MESSAGE_CONTENT")
                answers.append("" if frames[-1]["type"] == "RUN_ERROR" else shown)
        wrong += problems(row, server, answers)
    assert not wrong, "\n".join(wrong)
