"""Questions of external servers during calls over MCP: asked of the client that called, by the rules of approvals."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from assistant.contrib.mcp_server.direct_journal import expire_calls
from assistant.models import Tenant, ToolCall
from assistant.services.tenancy.members import create_api_key
from tests.api.calling import key_of
from tests.base import Cast
from tests.contrib.mcp_server.test_approvals import ASKABLE, Session
from tests.contrib.mcp_servers.questions.acts import add
from tests.factories import switch_tool
from tests.live import Server
from tests.mcp.outside import Outside
from tests.mcp.questions.acts import SEAT, SENT, answers_in, calls_in
from tests.mcp.talking import Client, Json, text_of
from tests.websocket.test_websocket import in_db

pytestmark = pytest.mark.django_db(transaction=True)
ARGUMENTS = {"what": "a trip"}
ACCEPTED: Json = {"action": "accept", "content": SEAT}


class Caller(Client):
    """A client of 2026-07-28 that can ask its user."""

    def __init__(self, site: Server, key: str) -> None:
        super().__init__(site.url, key, capabilities=ASKABLE)

    def go_on(self, tool: str, asked: Json, **answers: Json) -> Json:
        """Call again with answers to what was asked; the whole answer."""
        params = {"name": tool, "arguments": ARGUMENTS, "requestState": asked["requestState"]}
        return self.ask("tools/call", {**params, **({"inputResponses": answers} if answers else {})})


async def caller_of(site: Server, cast: Cast) -> Caller:
    return Caller(site, await in_db(key_of)(cast.acme, cast.alice))


async def asked_by(caller: Caller, tool: str) -> Json:
    asked: Json = await asyncio.to_thread(caller.call, tool, ARGUMENTS)
    assert asked["resultType"] == "input_required", asked
    return asked


def form_of(asked: Json) -> Json:
    params: Json = asked["inputRequests"]["question"]["params"]
    return params


async def test_the_client_gets_the_form_and_the_server_the_answer(site: Server, cast: Cast, asking: Outside) -> None:
    await add(cast, asking, "book")
    caller = await caller_of(site, cast)
    asked = await asked_by(caller, "crm__book")
    assert "crm" in form_of(asked)["message"] and "Which" in form_of(asked)["message"]
    schema = form_of(asked)["requestedSchema"]
    assert schema["properties"]["seat"] == {"enum": ["Window", "Aisle"], "title": "Seat", "type": "string"}
    assert schema["properties"]["extras"]["items"] == {"type": "string", "enum": ["bike", "dog"]}
    done = await asyncio.to_thread(caller.go_on, "crm__book", asked, question=ACCEPTED)
    assert json.loads(text_of(done["result"])) == [{"action": "accept", "content": SENT}]
    row = await ToolCall.objects.aget()
    assert (row.status, row.questions, row.decided_by_id) == ("ok", "", cast.alice.pk)
    again = await asyncio.to_thread(caller.go_on, "crm__book", asked, question=ACCEPTED)
    assert again["result"]["isError"] and "answered before" in text_of(again["result"])
    assert [one for one in answers_in(asking) if one["action"] == "accept"] == [{"action": "accept", "content": SENT}]


async def test_an_older_client_is_asked_on_its_stream(site: Server, cast: Cast, asking: Outside) -> None:
    await add(cast, asking, "book")
    older = await asyncio.to_thread(Session, site.url, await in_db(key_of)(cast.acme, cast.alice))
    *_, question, done = await asyncio.to_thread(older.call_answering, "crm__book", ARGUMENTS, ACCEPTED)
    assert "crm" in question["params"]["message"]
    assert json.loads(text_of(done["result"])) == [{"action": "accept", "content": SENT}]


async def test_an_approval_comes_first_and_is_none_of_the_answers(site: Server, cast: Cast, asking: Outside) -> None:
    await add(cast, asking, "book_surely", needs_approval=True)
    caller, tool = await caller_of(site, cast), "crm__book_surely"
    approval = await asked_by(caller, tool)
    assert list(approval["inputRequests"]) == ["approval"] and calls_in(asking) == 0
    yes = {"action": "accept", "content": {"approved": True}}
    seat = (await asyncio.to_thread(caller.go_on, tool, approval, approval=yes))["result"]
    replayed = (await asyncio.to_thread(caller.go_on, tool, approval, approval=yes))["result"]
    assert replayed["isError"] and "answered before" in text_of(replayed)
    sure = (await asyncio.to_thread(caller.go_on, tool, seat, question=ACCEPTED))["result"]
    assert "Are you sure?" in form_of(sure)["message"]
    late = (await asyncio.to_thread(caller.go_on, tool, seat, question=ACCEPTED))["result"]
    assert late["isError"] and "answered before" in text_of(late)
    agreed = {"action": "accept", "content": {"go_on": True}}
    done = (await asyncio.to_thread(caller.go_on, tool, sure, question=agreed))["result"]
    assert [one["content"] for one in json.loads(text_of(done))] == [SENT, {}]
    assert await ToolCall.objects.acount() == 1


async def test_an_answer_that_does_not_fit_is_asked_for_again(site: Server, cast: Cast, asking: Outside) -> None:
    await add(cast, asking, "book")
    caller = await caller_of(site, cast)
    asked = await asked_by(caller, "crm__book")
    before = calls_in(asking)
    unfit = {"action": "accept", "content": {**SEAT, "people": 99}}
    again = (await asyncio.to_thread(caller.go_on, "crm__book", asked, question=unfit))["result"]
    assert "does not fit: people" in form_of(again)["message"]
    silent = (await asyncio.to_thread(caller.go_on, "crm__book", again))["result"]
    assert form_of(silent) == form_of(asked) and calls_in(asking) == before
    done = (await asyncio.to_thread(caller.go_on, "crm__book", silent, question=ACCEPTED))["result"]
    assert "isError" not in done or not done["isError"]
    assert answers_in(asking)[-1]["content"] == SENT


@pytest.mark.parametrize("said", ["decline", "cancel"])
async def test_whoever_does_not_answer_declines_the_call(said: str, site: Server, cast: Cast, asking: Outside) -> None:
    await add(cast, asking, "book")
    caller = await caller_of(site, cast)
    asked = await asked_by(caller, "crm__book")
    done = (await asyncio.to_thread(caller.go_on, "crm__book", asked, question={"action": said}))["result"]
    assert done["isError"] and said in text_of(done)
    row = await ToolCall.objects.aget()
    assert (row.status, row.questions) == ("declined", "")
    assert not [one for one in answers_in(asking) if one["action"] == "accept"]


async def test_nobody_else_answers_and_switches_hold(site: Server, cast: Cast, asking: Outside) -> None:
    await add(cast, asking, "book")
    caller = await caller_of(site, cast)
    asked = await asked_by(caller, "crm__book")
    for tenant, user in ((cast.globex, cast.mallory), (cast.acme, cast.amy), (cast.acme, cast.alice)):
        key = (await in_db(create_api_key)(tenant=tenant, user=user, name="other"))[1]
        stolen = await asyncio.to_thread(Caller(site, key).go_on, "crm__book", asked, question=ACCEPTED)
        assert stolen["error"]["code"] == -32602
    await in_db(switch_tool)(cast.acme, "crm__book", "off")
    before = calls_in(asking)
    refused: Any = await asyncio.to_thread(caller.go_on, "crm__book", asked, question=ACCEPTED)
    assert refused["error"]["code"] == -32602 and calls_in(asking) == before


async def test_with_four_eyes_who_asked_still_answers_questions(site: Server, cast: Cast, asking: Outside) -> None:
    await Tenant.objects.filter(pk=cast.acme.pk).aupdate(approvals_by_others=True)
    await add(cast, asking, "book")
    caller = await caller_of(site, cast)
    asked = await asked_by(caller, "crm__book")
    done = (await asyncio.to_thread(caller.go_on, "crm__book", asked, question=ACCEPTED))["result"]
    assert json.loads(text_of(done)) == [{"action": "accept", "content": SENT}]


async def test_a_question_that_nobody_answers_expires(site: Server, cast: Cast, asking: Outside) -> None:
    await add(cast, asking, "book")
    await asked_by(await caller_of(site, cast), "crm__book")
    assert "Which" in (await ToolCall.objects.aget()).questions
    await ToolCall.objects.aupdate(started_at=timezone.now() - timedelta(hours=2))
    assert await in_db(expire_calls)() == 1
    row = await ToolCall.objects.aget()
    assert (row.status, row.questions) == ("expired", "")
