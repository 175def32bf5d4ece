"""Whole turns with named servers, through `ChatClient` and tenants' runs, and the next two turns of each thread."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest

from assistant.client import ChatClient, InMemoryStore, RunFailed
from assistant.core.turn import model_requests
from assistant.models import Provider
from assistant.providers import OpenAIModel
from assistant.toolkit import tool
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_answers import Answer, Recorded, reply, respond
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.providers.cases.calls import CALLS
from tests.providers.cases.case import SUM, Case
from tests.providers.cases.failures import FAILURES
from tests.providers.cases.texts import TEXTS
from tests.providers.kinds import Body, any_kind, calls_of
from tests.websocket.test_websocket import in_db
from tests.ws import Socket, open_socket

GROUPS = {"calls": CALLS, "texts": TEXTS, "failures": FAILURES}
CASES = [case for group in GROUPS.values() for case in group]
TABLE = Path(__file__).parents[3] / "docs" / "provider-quirks.md"


@tool
def calculate(expression: str) -> str:
    """Work out a sum."""
    return "42" if expression == "6*7" else "wrong"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_requests, "FIRST_PAUSE", 0.0)


class CaseServer:
    """The rule of a fake provider: the case's answers, then "Fine."; it refuses requests that no server takes."""

    def __init__(self, case: Case) -> None:
        self._answers = list(case.answers)
        self.problems: list[str] = []
        self.bodies: list[Body] = []

    def __call__(self, request: Recorded) -> Answer:
        if problems := [*any_kind(request.json), *odd_texts(request.json)]:
            self.problems += problems
            return respond(400, {"error": {"message": problems[0]}})
        self.bodies.append(request.json)
        answer = self._answers.pop(0) if self._answers else reply("Fine.")
        return answer if isinstance(answer, Answer) else answer(request)

    def forget(self) -> None:
        """Answer only "Fine." from now on."""
        self._answers.clear()


def odd_texts(body: Body) -> list[str]:
    """Return what is wrong with the texts of a request: empty ones, and what only a template should write."""
    said = [str(message.get("content") or "") for message in body["messages"] if message["role"] != "tool"]
    may_be_empty = [m["role"] == "tool" or m.get("tool_calls") for m in body["messages"]]
    empty = [m["role"] for m, may in zip(body["messages"], may_be_empty, strict=True) if not (may or m["content"])]
    odd = [text for text in said if text.startswith("<think>") or "\0" in text]
    return [*(f"empty text of {role}" for role in empty), *odd]


def check(case: Case, server: CaseServer, answers: list[str], error: str) -> list[str]:
    """Return what is not as the case says."""
    sent = json.dumps(server.bodies[-1], separators=(",", ":"), ensure_ascii=False)
    calls = [call["function"] for _, call in calls_of(server.bodies[-1])]
    results = [message["content"] for message in server.bodies[-1]["messages"] if message["role"] == "tool"]
    wrong = [*server.problems]
    is_text = answers[0].endswith(case.text) if case.text else not answers[0]  # a run also shows text before calls
    if not is_text or answers[1:] != ["Fine.", "Fine."]:
        wrong.append(f"answers {answers} ({error})")
    if case.error not in error or bool(case.error) != bool(error):
        wrong.append(f"error {error!r}")
    if case.is_sum and (
        [(call["name"], json.loads(call["arguments"])) for call in calls] != [("calculate", json.loads(SUM))]
        or "42" not in "".join(results)
    ):
        wrong.append(f"calls {calls} with {results}")
    wrong += [f"{text} was not returned" for text in case.returned if text not in sent]
    return [f"{case.name}: {one}" for one in wrong]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_case(fake_provider: FakeProvider, case: Case) -> None:
    fake_provider.rule(server := CaseServer(case))
    model = OpenAIModel(case.model, base_url=fake_provider.url, api_key="", max_retries=0, kind=case.kind)
    client = ChatClient(model=model, tools=[calculate], system="Be kind.", store=InMemoryStore())
    answers, error = [], ""
    for text in ("One", "Two", "Three"):
        try:
            answers.append((await client.call(text, conversation="1")).text)
        except RunFailed as failed:
            answers.append("")
            error = str(failed)
        server.forget()
    assert check(case, server, answers, error) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("group", GROUPS)
async def test_cases_in_tenants_runs(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, group: str
) -> None:
    await in_db(switch_tool)(cast.acme, "calculate")
    wrong = []
    for case in GROUPS[group]:
        await Provider.objects.filter(pk=provider.pk).aupdate(kind=case.kind, default_model=case.model)
        fake_provider.rule(server := CaseServer(case))
        async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
            wrong += check(case, server, *await ask_thrice(socket, server))
    assert wrong == []


async def ask_thrice(socket: Socket, server: CaseServer) -> tuple[list[str], str]:
    """Ask three questions of a new thread; returns the answers, and the error of the last run that failed."""
    answers, error, thread = [], "", str(uuid.uuid4())
    for text in ("One", "Two", "Three"):
        frames = await socket.ask(text, thread=thread)
        is_failed = frames[-1]["type"] == "RUN_ERROR"
        error = frames[-1]["message"] if is_failed else error
        shown = "".join(frame["delta"] for frame in frames if frame["type"] == "TEXT_MESSAGE_CONTENT")
        answers.append("" if is_failed else shown)
        server.forget()
    return answers, error


def test_the_table_of_cases_and_the_tests_agree() -> None:
    section = TABLE.read_text().partition("## Whole turns")[2].partition("\n## ")[0]
    rows: list[Any] = re.findall(r"^\| ((?!Answer|-)[^|]+(?:\\\|[^|]+)*) \| [^|]+ \|$", section, re.MULTILINE)
    assert sorted(row.replace("\\|", "|") for row in rows) == sorted(case.name for case in CASES)
