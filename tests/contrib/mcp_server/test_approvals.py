"""Tools that need approval over MCP: the client asks its user, and an approval is valid once for the same call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from mcp_types import ClientCapabilities

from assistant.contrib.mcp_server import older_clients
from assistant.models import Approval, Tenant, ToolCall
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.factories import switch_tool
from tests.live import Server, SharedServer, serve
from tests.mcp.conftest import SERVED
from tests.mcp.talking import OLDER, Client, Json, events, headers, message, text_of

pytestmark = pytest.mark.django_db(transaction=True)

ASKABLE: Json = {"elicitation": {"form": {}}}
YES: Json = {"approval": {"action": "accept", "content": {"approved": True}}}


def ask(client: Client, what: str = "the disk") -> Json:
    """Call the tool that asks; its question."""
    question = client.call("erase", {"what": what})
    assert question["resultType"] == "input_required", question
    assert what in question["inputRequests"]["approval"]["params"]["message"]
    return question


def answer(client: Client, question: Json, answers: Json = YES, what: str = "the disk", **changes: Any) -> Json:
    params = {"name": "erase", "arguments": {"what": what}, "inputResponses": answers}
    return client.ask("tools/call", {**params, "requestState": question["requestState"], **changes})


def test_an_approved_call_runs_once(served: Server, cast: Cast, alice_key: str) -> None:
    alice = Client(served.url, alice_key, capabilities=ASKABLE)
    question = ask(alice)
    assert not Approval.objects.exists(), "it waits for its caller alone, and for no operator"
    assert ToolCall.objects.get().status == "awaiting_approval"
    assert text_of(answer(alice, question)["result"]) == "Erased the disk."
    row = ToolCall.objects.get()
    assert (row.status, row.decided_by) == ("ok", cast.alice)
    again = answer(alice, question)["result"]
    assert again["isError"] and "answered before" in text_of(again)
    assert ToolCall.objects.filter(status="ok").count() == 1


def test_with_four_eyes_the_caller_does_not_approve_their_own_call(
    uvicorn_served: Server, cast: Cast, alice_key: str
) -> None:
    Tenant.objects.filter(pk=cast.acme.pk).update(approvals_by_others=True)
    alice = Client(uvicorn_served.url, alice_key, capabilities=ASKABLE)
    result = answer(alice, ask(alice))["result"]
    assert result["isError"] and "Somebody else must approve" in text_of(result)
    assert ToolCall.objects.get().status == "awaiting_approval"


@pytest.mark.parametrize(
    "said",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept", "content": {"approved": False}},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"approved": "true"}},
    ],
)
def test_anything_but_an_approval_is_a_rejection(said: Json, uvicorn_served: Server, alice_key: str) -> None:
    alice = Client(uvicorn_served.url, alice_key, capabilities=ASKABLE)
    result = answer(alice, ask(alice), {"approval": said})["result"]
    assert result["isError"] and "declined" in text_of(result)
    assert ("did not tick" if said["action"] == "accept" else said["action"]) in text_of(result)
    assert ToolCall.objects.get().status == "declined"


@pytest.mark.parametrize("change", ["state", "arguments", "tool", "nothing asked"])
def test_an_approval_is_valid_only_for_the_approved_call(change: str, uvicorn_served: Server, alice_key: str) -> None:
    alice = Client(uvicorn_served.url, alice_key, capabilities=ASKABLE)
    question = ask(alice)
    changes: dict[str, Json] = {
        "state": {"requestState": question["requestState"].swapcase()},
        "arguments": {"arguments": {"what": "everything"}},
        "tool": {"name": "who_am_i", "arguments": {}},
    }
    if change == "nothing asked":
        params = {"name": "erase", "arguments": {"what": "the disk"}, "inputResponses": YES}
        assert alice.result("tools/call", params)["resultType"] == "input_required"
    else:
        assert answer(alice, question, **changes[change])["error"]["code"] == -32602
    assert not ToolCall.objects.filter(status="ok").exists()


def test_somebody_else_cannot_answer(uvicorn_served: Server, cast: Cast, alice_key: str, mallory_key: str) -> None:
    question = ask(Client(uvicorn_served.url, alice_key, capabilities=ASKABLE))
    colleague = create_api_key(tenant=cast.acme, user=cast.amy, name="mcp")[1]
    for key in (mallory_key, colleague):
        other = Client(uvicorn_served.url, key, capabilities=ASKABLE)
        assert answer(other, question)["error"]["code"] == -32602


def test_a_switch_changed_while_a_call_waits_applies(uvicorn_served: Server, cast: Cast, alice_key: str) -> None:
    alice = Client(uvicorn_served.url, alice_key, capabilities=ASKABLE)
    question = ask(alice)
    switch_tool(cast.acme, "erase", "off")
    assert answer(alice, question)["error"]["code"] == -32602
    assert not ToolCall.objects.filter(status="ok").exists()


def test_a_switch_set_to_ask_requires_approval(uvicorn_served: Server, cast: Cast, alice_key: str) -> None:
    switch_tool(cast.acme, "who_am_i", "ask")
    alice = Client(uvicorn_served.url, alice_key, capabilities=ASKABLE)
    assert alice.call("who_am_i")["resultType"] == "input_required"


@pytest.mark.parametrize("version", ["2026-07-28", OLDER])
def test_a_client_that_cannot_ask_is_told_so(version: str, uvicorn_served: Server, alice_key: str) -> None:
    result = Client(uvicorn_served.url, alice_key, version=version).call("erase", {"what": "the disk"})
    assert result["isError"] and "needs a person's approval" in text_of(result)
    assert ToolCall.objects.get().status == "refused"


@pytest.mark.parametrize(
    ("declared", "is_asked"), [({}, True), ({"form": {}}, True), ({"url": {}}, False), ({"url": {}, "form": {}}, True)]
)
def test_a_form_is_sent_to_clients_that_take_forms_alone(
    declared: Json, is_asked: bool, uvicorn_served: Server, alice_key: str
) -> None:
    alice = Client(uvicorn_served.url, alice_key, capabilities={"elicitation": declared})
    result = alice.call("erase", {"what": "the disk"})
    assert (result["resultType"] == "input_required") is is_asked
    assert is_asked or "needs a person's approval" in text_of(result)


class Session(Client):
    """A client older than 2026-07-28, on a session."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key, version=OLDER)
        info = {
            "protocolVersion": OLDER,
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "t", "version": "1"},
        }
        response = self.post("initialize", info)
        self.sent = headers(key, version=OLDER) | {"mcp-session-id": response.headers["mcp-session-id"]}
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, body: Json, url: str = "") -> int:
        return self.http.post(url or self.url, json=body, headers=self.sent).status_code

    def call_answering(self, tool: str, arguments: Json, said: Json, url: str = "") -> list[Json]:
        """Call a tool, answering whatever it asks, at another address if one is given; every message of its stream."""
        seen = []
        body = message("tools/call", {"name": tool, "arguments": arguments}, version=OLDER)
        with self.http.stream("POST", self.url, json=body, headers=self.sent) as response:
            for one in events(response.iter_lines()):
                seen.append(one)
                if one.get("method") == "elicitation/create":
                    assert self.send({"jsonrpc": "2.0", "id": one["id"], "result": said}, url) == 202
        return seen


@pytest.fixture(params=["uvicorn", "daphne", "uvicorn+sessions"])
def any_served(request: pytest.FixtureRequest, shared_server: SharedServer, transactional_db: None) -> Iterator[Server]:
    """A server that keeps sessions for clients older than 2026-07-28, or servers that do not."""
    kind, _, sessions = request.param.partition("+")
    with shared_server.lend(kind, {**SERVED, "ASSISTANT_MCP_SESSIONS": "true" if sessions else ""}) as lent:
        yield lent


def test_an_older_client_is_asked_on_the_stream(any_served: Server, cast: Cast, alice_key: str) -> None:
    alice = Session(any_served.url, alice_key)
    *_, question, result = alice.call_answering("erase", {"what": "the disk"}, YES["approval"])
    assert "the disk" in question["params"]["message"]
    assert text_of(result["result"]) == "Erased the disk."
    assert ToolCall.objects.get().decided_by == cast.alice


def test_an_older_client_that_says_no_is_heard(uvicorn_served: Server, alice_key: str) -> None:
    *_, result = Session(uvicorn_served.url, alice_key).call_answering("erase", {"what": "it"}, {"action": "decline"})
    assert result["result"]["isError"] and "declined" in text_of(result["result"])
    assert ToolCall.objects.get().status == "declined"


@pytest.mark.parametrize("said", [{"action": "perhaps"}, {}, [], None])
def test_an_older_clients_unreadable_answer_runs_nothing(said: Any, uvicorn_served: Server, alice_key: str) -> None:
    *_, result = Session(uvicorn_served.url, alice_key).call_answering("erase", {"what": "it"}, said)
    assert result["result"]["isError"] and "cannot be read" in text_of(result["result"])
    assert not ToolCall.objects.filter(status="ok").exists()


@pytest.mark.services
def test_the_answer_may_reach_another_process(uvicorn_served: Server, cast: Cast, alice_key: str) -> None:
    with serve("daphne", env=SERVED) as other:
        alice, there = Session(uvicorn_served.url, alice_key), f"{other.url}/mcp/"
        *_, result = alice.call_answering("erase", {"what": "the disk"}, YES["approval"], there)
    assert text_of(result["result"]) == "Erased the disk."


class NoRuns:
    async def start(self) -> None:
        """There is nothing to start."""


async def test_of_very_many_questions_the_last_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def send(part: Any) -> None:
        """Take it, as a client does that does not answer."""

    client = older_clients.OlderClient("1:2:3", ClientCapabilities(), send)
    await client.send({"type": "http.response.start", "headers": [(b"content-type", b"text/event-stream")]})
    monkeypatch.setattr(older_clients, "get_runs", NoRuns)
    monkeypatch.setattr(older_clients, "MAX_QUESTIONS", 2)
    asked = [asyncio.create_task(client.ask("roots/list", {})) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(older_clients.TooManyQuestions):
        await client.ask("roots/list", {})
    for task in asked:
        task.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    assert not older_clients._asked and not older_clients._waiting


def test_nobody_else_answers_a_question(uvicorn_served: Server, cast: Cast, alice_key: str, mallory_key: str) -> None:
    alice, mallory = Session(uvicorn_served.url, alice_key), Session(uvicorn_served.url, mallory_key)
    body = message("tools/call", {"name": "erase", "arguments": {"what": "the disk"}}, version=OLDER)
    with alice.http.stream("POST", alice.url, json=body, headers=alice.sent) as response:
        stream = events(response.iter_lines())
        question = next(one for one in stream if one.get("method") == "elicitation/create")
        answered = {"jsonrpc": "2.0", "id": question["id"]}
        assert mallory.send({**answered, "result": YES["approval"]}) == 202
        assert ToolCall.objects.get().status == "awaiting_approval"
        assert alice.send({**answered, "result": {"action": "decline"}}) == 202
        assert "declined" in text_of(next(stream)["result"])
    assert ToolCall.objects.get().status == "declined"


@pytest.mark.parametrize("session", ["c-", "c-forged", "c-" + "x" * 5000])
def test_a_session_that_was_not_given_is_unknown(session: str, any_served: Server, alice_key: str) -> None:
    response = Client(any_served.url, alice_key, version=OLDER).post("tools/list", **{"mcp-session-id": session})
    assert response.status_code == 404


def test_a_request_without_a_session_is_served_by_itself(any_served: Server, alice_key: str) -> None:
    """As docs/mcp.md does by curl."""
    assert "erase" in Client(any_served.url, alice_key, version=OLDER).tools()


def test_a_session_belongs_to_its_key(any_served: Server, cast: Cast, alice_key: str, mallory_key: str) -> None:
    alice = Session(any_served.url, alice_key)
    second_key = create_api_key(tenant=cast.acme, user=cast.alice, name="second")[1]
    for key in (mallory_key, second_key):
        stolen = alice.sent | {"authorization": f"Bearer {key}"}
        response = alice.http.post(alice.url, json=message("tools/list", version=OLDER), headers=stolen)
        assert response.status_code == 404 and "acme" not in json.dumps(response.json())
