"""Calls over MCP: context, validation, audit, progress and cancellation."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import jsonschema
import pytest
from django.test import Client as Browser
from django.utils import timezone

from assistant.contrib.mcp_server import direct_call
from assistant.contrib.mcp_server.direct_call import MAX_CALLS
from assistant.contrib.mcp_servers.models import McpServer, McpTool
from assistant.mcp_client import ToolDefinition
from assistant.models import ToolCall, ToolSetting
from assistant.services.limits.rate_limits import REQUEST_BURST, take_member_request
from assistant.services.tenancy.api_keys import revoke_api_keys
from assistant.services.tenancy.members import Member, create_api_key
from tests.base import Cast
from tests.factories import switch_tool
from tests.live import Server
from tests.mcp.talking import OLDER, Client, Json, answers, events, headers, message, streaming, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def audit_of(tool: str) -> ToolCall:
    return ToolCall.objects.get(name=tool)


def wait_for_end(tool: str) -> ToolCall:
    """Wait for the call's end, and return its audit row."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        row = ToolCall.objects.filter(name=tool).exclude(status=ToolCall.Status.RUNNING).first()
        if row is not None:
            return row
        time.sleep(0.05)
    raise AssertionError(f"{tool} still runs")


@pytest.mark.parametrize("text", ["half \ud800", "nul \x00"])
@pytest.mark.parametrize("policy", ["on", "ask"])
def test_text_that_no_database_can_store_is_no_server_error(
    served: Server, cast: Cast, alice_key: str, text: str, policy: str
) -> None:
    switch_tool(cast.acme, "calculate", policy)
    alice = Client(served.url, alice_key)
    for arguments in ({"expression": "1", text: 1}, {"expression": text}):
        assert alice.call("calculate", arguments)["isError"] is True
    assert not any(text in row.arguments + row.error for row in ToolCall.objects.all())


def test_two_keys_have_two_lists_and_two_contexts_at_one_address(
    served: Server, cast: Cast, alice_key: str, mallory_key: str
) -> None:
    switch_tool(cast.acme, "find_orders")
    switch_tool(cast.globex, "get_weather")
    setting = switch_tool(cast.acme, "who_am_i")
    ToolSetting.objects.filter(pk=setting.pk).update(secrets="")
    alice, mallory = Client(served.url, alice_key), Client(served.url, mallory_key)
    assert ("find_orders" in alice.tools(), "find_orders" in mallory.tools()) == (True, False)
    assert ("get_weather" in alice.tools(), "get_weather" in mallory.tools()) == (False, True)
    assert alice.call("who_am_i")["structuredContent"]["tenant"] == "acme"
    assert mallory.call("who_am_i")["structuredContent"] == {
        "tenant": "globex", "username": "mallory", "extra": ["mcp_caller"], "secret": "",
    }  # fmt: skip


def test_a_call_is_audited_with_its_caller(uvicorn_served: Server, cast: Cast, alice_key: str) -> None:
    Client(uvicorn_served.url, alice_key).call("who_am_i", {"note": "for the audit"})
    row = audit_of("who_am_i")
    assert (row.tenant, row.user, row.run, row.status) == (cast.acme, cast.alice, None, "ok")
    assert json.loads(row.arguments) == {"note": "for the audit"} and "acme" in row.result
    assert row.duration_ms is not None and row.rule
    browser = Browser()
    browser.force_login(cast.amy)
    shown = browser.get(f"/admin/assistant/toolcall/{row.pk}/change/").content.decode()
    assert "over MCP" in shown and "alice" in shown
    browser.force_login(cast.greta)
    assert browser.get(f"/admin/assistant/toolcall/{row.pk}/change/").status_code != 200


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"number": "many"}, "number"), ({}, "number"), ({"number": 2, "tenant": "globex"}, "tenant")],
)
def test_wrong_arguments_are_named_and_nothing_runs(
    arguments: dict[str, Any], named: str, uvicorn_served: Server, alice_key: str
) -> None:
    result = Client(uvicorn_served.url, alice_key).call("count_to", arguments)
    assert result["isError"] and named in text_of(result)
    assert audit_of("count_to").status == "error"


def test_every_listed_schema_holds_and_structured_results_follow_theirs(
    uvicorn_served: Server, cast: Cast, alice_key: str
) -> None:
    alice = Client(uvicorn_served.url, alice_key)
    tools = {tool["name"]: tool for tool in alice.result("tools/list")["tools"]}
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(tool.get("outputSchema", {}))
    for name, arguments in (("who_am_i", {}), ("calculate", {"expression": "6*7"}), ("count_to", {"number": 5})):
        structured = alice.call(name, arguments)["structuredContent"]
        jsonschema.validate(structured, tools[name]["outputSchema"])
    assert alice.call("count_to", {"number": 3})["structuredContent"] == {"result": [1, 2, 3]}
    assert tools["who_am_i"]["annotations"] == {"readOnlyHint": True, "idempotentHint": True}


def test_a_list_that_was_cut_says_so_beside_it(uvicorn_served: Server, alice_key: str) -> None:
    structured = Client(uvicorn_served.url, alice_key).call("count_rows", {"number": 150})["structuredContent"]
    assert structured["result"] == list(range(100)) and "100" in structured["note"]


def test_a_crash_shows_only_its_id(uvicorn_served: Server, alice_key: str) -> None:
    result = Client(uvicorn_served.url, alice_key).call("break_down")
    row = audit_of("break_down")
    assert result["isError"] and "hunter2" not in json.dumps(result)
    assert row.error_id and row.error_id in text_of(result)


def test_a_tool_that_takes_too_long_is_stopped(uvicorn_served: Server, alice_key: str) -> None:
    result = Client(uvicorn_served.url, alice_key).call("take_too_long")
    assert result["isError"] and "0.2 seconds" in text_of(result)
    assert audit_of("take_too_long").status == "timeout"


@pytest.mark.parametrize("version", ["2026-07-28", OLDER])
def test_progress_is_sent_on_request(version: str, served: Server, alice_key: str) -> None:
    alice = Client(served.url, alice_key, version=version)
    params = {"name": "count_to", "arguments": {"number": 3}, "_meta": {"progressToken": "p1"}}
    messages = answers(alice.post("tools/call", params))
    told = [one["params"] for one in messages if one.get("method") == "notifications/progress"]
    assert [(one["progress"], one["total"], one["message"]) for one in told] == [
        (1, 3, "at 1"), (2, 3, "at 2"), (3, 3, "at 3"),
    ]  # fmt: skip
    assert {one["progressToken"] for one in told} == {"p1"} and "result" in messages[-1]


@pytest.mark.parametrize("version", ["2026-07-28", OLDER])
def test_disconnecting_ends_the_tool(version: str, served: Server, alice_key: str) -> None:
    alice = Client(served.url, alice_key, version=version)
    params = {"name": "wait_for_ever", "arguments": {}, "_meta": {"progressToken": "p1"}}
    with streaming(alice, "tools/call", params) as messages:
        assert next(messages)["method"] == "notifications/progress"
        assert audit_of("wait_for_ever").status == "running"
    assert wait_for_end("wait_for_ever").status == "cancelled"


def running_call(client: Client, request_id: int, stack: ExitStack) -> Iterator[Json]:
    """A call of an older client that has begun; what comes of it."""
    body = message("tools/call", {"name": "wait_for_ever", "_meta": {"progressToken": "p"}}, version=OLDER)
    sent = {"json": {**body, "id": request_id}, "headers": headers(client.key, version=OLDER)}
    response = stack.enter_context(client.http.stream("POST", client.url, **sent))
    messages = events(response.iter_lines())
    assert next(messages)["method"] == "notifications/progress"
    return messages


def give_up(client: Client, request_id: int) -> None:
    """The notice by which an older client cancels."""
    notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
    assert client.http.post(client.url, json=notice, headers=headers(client.key, version=OLDER)).status_code == 202


def test_an_older_client_cancels_its_own_call_by_a_notice(
    served: Server, cast: Cast, alice_key: str, mallory_key: str
) -> None:
    second_key = create_api_key(tenant=cast.acme, user=cast.alice, name="second")[1]
    alice, *others = (Client(served.url, key, version=OLDER) for key in (alice_key, mallory_key, second_key))
    with ExitStack() as stack:
        messages = running_call(alice, 7, stack)
        for other in others:
            give_up(other, 7)
        give_up(alice, 8)
        assert alice.call("who_am_i")["structuredContent"]["username"] == "alice"
        assert audit_of("wait_for_ever").status == "running"
        give_up(alice, 7)
        assert next(messages)["error"] == {"code": -32800, "message": "Request cancelled"}
    assert wait_for_end("wait_for_ever").status == "cancelled"


def test_a_call_ends_with_the_key_that_made_it(uvicorn_served: Server, cast: Cast, alice_key: str) -> None:
    alice = Client(uvicorn_served.url, alice_key, version=OLDER)
    with ExitStack() as stack:
        messages = running_call(alice, 7, stack)
        revoke_api_keys(keys=cast.acme.api_keys.all(), actor=None)
        assert next(messages)["error"]["code"] == -32800
    assert wait_for_end("wait_for_ever").status == "cancelled"


def test_an_ambiguous_cancellation_ends_neither_call(uvicorn_served: Server, alice_key: str) -> None:
    alice = Client(uvicorn_served.url, alice_key, version=OLDER)
    with ExitStack() as stack:
        running = [running_call(alice, 7, stack) for _ in range(2)]
        give_up(alice, 7)
        assert alice.call("who_am_i")["structuredContent"]["username"] == "alice"
        assert set(ToolCall.objects.filter(name="wait_for_ever").values_list("status", flat=True)) == {"running"}
        assert len(running) == 2


@pytest.fixture
def resting(cast: Cast) -> McpTool:
    """A tool of an external server of Acme's that is allowed, and left alone for a while."""
    server = McpServer.objects.create(
        tenant=cast.acme,
        name="crm",
        prefix="crm",
        url="https://crm.example/",
        is_active=True,
        rests_until=timezone.now() + timedelta(hours=1),
    )
    definition = ToolDefinition("echo")
    known = {"definition": definition.to_state(), "digest": definition.digest}
    accepted = {"accepted": definition.to_state(), "accepted_digest": definition.digest}
    return McpTool.objects.create(
        server=server, name="echo", is_allowed=True, needs_approval=False, **known, **accepted
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({}, "The server crm does not answer."),
        ({"digest": "another"}, "The server crm has changed it since it was allowed."),
        ({"is_listed": False}, "The server crm no longer offers it."),
    ],
)
def test_a_tool_of_a_failing_server_gives_the_reason(
    change: Json, sentence: str, uvicorn_served: Server, alice_key: str, resting: McpTool
) -> None:
    McpTool.objects.filter(pk=resting.pk).update(**change)
    alice = Client(uvicorn_served.url, alice_key)
    result = alice.call("crm__echo")
    assert (result["isError"], text_of(result)) == (True, sentence)
    assert "crm__echo" not in alice.tools()


def test_an_outside_tool_that_the_caller_cannot_use_anyway_does_not_exist(
    uvicorn_served: Server, cast: Cast, alice_key: str, mallory_key: str, resting: McpTool
) -> None:
    alice, mallory = Client(uvicorn_served.url, alice_key), Client(uvicorn_served.url, mallory_key)
    unknown = {"code": -32602, "message": "Unknown tool: crm__echo"}
    asked = {"name": "crm__echo", "arguments": {}}
    assert mallory.ask("tools/call", asked)["error"] == unknown
    switch_tool(cast.acme, "crm__echo", "off")
    assert alice.ask("tools/call", asked)["error"] == unknown
    ToolSetting.objects.all().delete()
    McpTool.objects.update(is_allowed=False)
    assert alice.ask("tools/call", asked)["error"] == unknown


def test_a_member_who_sends_too_much_waits_and_others_do_not() -> None:
    assert not all(take_member_request(tenant_id=1, user_id=1) for _ in range(REQUEST_BURST + 1000))
    assert take_member_request(tenant_id=1, user_id=2) and take_member_request(tenant_id=2, user_id=1)


def test_concurrent_calls_of_a_member_wait_for_each_other(
    uvicorn_served: Server, alice_key: str, mallory_key: str
) -> None:
    alice, mallory = Client(uvicorn_served.url, alice_key), Client(uvicorn_served.url, mallory_key)
    params = {"name": "wait_for_ever", "arguments": {}, "_meta": {"progressToken": "p1"}}
    with ThreadPoolExecutor(1) as threads, ExitStack() as stack:
        running = [stack.enter_context(streaming(alice, "tools/call", params)) for _ in range(MAX_CALLS)]
        assert {next(messages)["method"] for messages in running} == {"notifications/progress"}
        waiting = threads.submit(alice.call, "who_am_i")
        assert mallory.call("who_am_i")["structuredContent"]["tenant"] == "globex"
        assert not waiting.done()
        stack.close()  # which cancels those that run
        assert waiting.result()["structuredContent"]["tenant"] == "acme"


def test_twenty_calls_at_once_are_all_answered(uvicorn_served: Server, alice_key: str) -> None:
    def call(_: int) -> Any:
        return Client(uvicorn_served.url, alice_key).call("who_am_i")

    with ThreadPoolExecutor(20) as threads:
        assert all(not result.get("isError") for result in threads.map(call, range(20)))


async def test_of_very_many_calls_the_last_are_refused(alice_member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_call, "MAX_WAITING", 2)
    monkeypatch.setattr(direct_call, "WAIT_SECONDS", 0.05)
    leave = [await direct_call._take_place(alice_member) for _ in range(MAX_CALLS)]
    waiting = [asyncio.create_task(direct_call._take_place(alice_member)) for _ in range(3)]
    said = await asyncio.gather(*waiting, return_exceptions=True)
    assert ["waiting" in str(one) for one in said] == [False, False, True]
    assert all(isinstance(one, direct_call.TooManyCalls) for one in said)
    for one in leave:
        one()
    assert not direct_call._places
