"""Generates random tries from a seed: requests and frames to every door, with ids of other callers' rows."""

from __future__ import annotations

import json
import random
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from assistant.contrib.timed.models import Alarm, Schedule
from assistant.models import Assistant, Conversation, Document, Message, Run, Tenant, ToolCall
from tests.agui import Frame
from tests.base import Cast
from tests.isolation.callers import PERSONAL, Caller, Request
from tests.isolation.doors import admin_forms, paths, queries
from tests.isolation.planting import CANARY_HEAD
from tests.isolation.test_mcp import STREAMS, requests_against
from tests.isolation.test_websocket import frames_against
from tests.mcp.talking import MODERN, OLDER, headers, message
from tests.ws import run_input
from tools.models import Customer, Order

WRITES = ("POST", "PUT", "PATCH", "DELETE")
# The doors by pattern of their addresses. An address that matches none fails a test.
DOORS = {
    "exports": r"^/api/v1/.*/export/$",
    "widget": r"^/api/v1/.*/end-user-tokens/$|^/static/assistant/widget",
    "SSE": r"^/api/v1/.*(/assistants/[^/]+/runs/|/events/)$",
    "webhooks": r"^/admin/assistant_webhooks/|^/api/v1/.*/webhooks?/",
    "REST": r"^/api(/|$)",
    "/v1": r"^/v1(/|$)",
    "admin": r"^/admin/",
    "websocket": r"^/ws/",
    "MCP": r"^/(mcp/|\.well-known/)",
    "pages": r"^/(t/|$|accounts/|brand/|docs/|healthz$|readyz$|metrics$)",
}
# Doors that no plain request opens.
WEBSOCKET, MCP, TOOLS = "websocket", "MCP", "tools"
UNLISTED = "unlisted"
# Precedes the calls that a message asks the model for; see `obeying` of `trying`.
ORDER = "#call "
OUTSIDE = "crm"


def door_of(path: str) -> str | None:
    """Return the door that an address belongs to; None if it is not listed."""
    return next((door for door, pattern in DOORS.items() if re.search(pattern, path)), None)


@dataclass(frozen=True)
class Talk:
    """A connection to the websocket of `place`, on which one frame is sent."""

    door: str
    place: str
    kind: str
    frame: Frame


T = TypeVar("T")
Way = Callable[[Caller, str], Request | Talk]


def calls_against(rows: Mapping[type, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return calls of every tool, outside ones included, that ask for another tenant's rows."""
    customer, order, alarm = rows[Customer], rows[Order], rows[Alarm]
    noise = {"tenant": rows[Tenant].slug, "user_id": rows[Conversation].user_id}
    own: list[tuple[str, dict[str, Any]]] = [
        ("find_customers", {"query": CANARY_HEAD}),
        ("get_customer", {"customer_id": customer.number}),
        ("update_customer", {"customer_id": customer.number, "city": "taken"}),
        ("find_orders", {}),
        ("get_order", {"number": order.number}),
        ("search_docs", {"queries": [CANARY_HEAD]}),
        ("read_document", {"id": rows[Document].pk}),
        ("search_collections", {"queries": [CANARY_HEAD], "document": rows[Document].pk}),
        ("list_alarms", {"include_old": True}),
        ("cancel_alarm", {"alarm_id": alarm.number}),
        ("set_alarm", {"at": "10:42"}),
        ("list_schedules", {}),
        ("delete_scheduled_question", {"schedule_id": rows[Schedule].pk}),
        ("schedule_question", {"name": "x", "question": CANARY_HEAD, "when": "2030-01-01T10:42"}),
        ("current_time", {}),
        ("who_am_i", {"note": "x"}),
        (f"{OUTSIDE}__whoami", {}),
        (f"{OUTSIDE}__echo", {"text": "hi"}),
    ]
    return [*own, *((name, {**arguments, **noise}) for name, arguments in own)]


def make_personal(rows: Mapping[type, Any]) -> None:
    """Write the second canary into Alice's personal rows, except into ids, which the tries contain."""
    for model, name in ((Run, "run_id"), (Message, "message_id"), (ToolCall, "call_id")):
        setattr(rows[model], name, str(uuid.uuid4()))
        rows[model].save(update_fields=[name])
    texts = {
        Conversation: {"title": PERSONAL, "summary": PERSONAL},
        Message: {"content": PERSONAL, "reasoning": PERSONAL},
        ToolCall: {"arguments": PERSONAL, "result": PERSONAL, "error": PERSONAL},
        Run: {"error_message": PERSONAL},
        Alarm: {"label": PERSONAL},
    }
    for model, values in texts.items():
        model._base_manager.filter(pk=rows[model].pk).update(**values)


class Tries:
    """Random tries against Acme's `rows`. Only the constructor queries the database."""

    def __init__(self, cast: Cast, rows: Mapping[type, Any], seed: int) -> None:
        self._random = random.Random(seed)
        self._rows = rows
        # The other tenant's ids under the caller's own tenant, which a missing filter would let through.
        mixed = {**rows, Tenant: cast.globex, Assistant: cast.rival_support}
        every = {path for path in (*paths(rows), *paths(mixed)) if "logout" not in path}
        self._reads: dict[str, list[str]] = {}
        self._writes: dict[str, list[tuple[str, str]]] = {}
        for path in sorted(every):
            door = door_of(path) or UNLISTED
            self._reads.setdefault(door, []).extend(path + query for query in queries(path, rows))
            self._writes.setdefault(door, []).extend((method, path) for method in WRITES)
        self._forms = list(admin_forms(rows))
        self._ids = [str(row.pk) for row in rows.values()] + [rows[Tenant].slug, rows[Run].run_id]
        self._frames = frames_against(run_input("x", thread=str(rows[Conversation].pk), run=rows[Run].run_id))
        self._mcp = requests_against(rows) | {name: [{"notifications": {"toolsListChanged": True}}] for name in STREAMS}
        self._calls = calls_against(rows)
        ways: dict[str, Way] = dict.fromkeys(self._reads, self._http)
        self._ways = ways | {WEBSOCKET: self._talk, MCP: self._to_mcp, TOOLS: self._to_tool}
        self._decks: dict[tuple[str, ...], list[Any]] = {}

    def one(self, caller: Caller) -> Request | Talk:
        """Return the next try of `caller`, mostly at a door that admits them."""
        may_enter = caller.doors and self._random.random() < 0.75
        door = self._random.choice(caller.doors if may_enter else list(self._ways))
        return self._ways[door](caller, door)

    def _draw(self, cards: Sequence[T], *deck: str) -> T:
        """Return a random card; each comes once before any comes again."""
        rest = self._decks.setdefault(deck, [])
        if not rest:
            rest += self._random.sample(cards, len(cards))
        drawn: T = rest.pop()
        return drawn

    def _http(self, caller: Caller, door: str) -> Request | Talk:
        if door == "widget" and self._random.random() < 0.5:
            return self._talk(caller, door)
        if door == "admin" and self._random.random() < 0.3:
            path, form = self._draw(self._forms, caller.name, "forms")
            return Request.of(door, "POST", path, form=form)
        if self._random.random() < 0.6:
            path = self._draw(self._reads[door], caller.name, door, "reads")
            return Request.of(door, "GET", path if self._random.random() < 0.8 else path.split("?")[0] + self._query())
        method, path = self._draw(self._writes[door], caller.name, door, "writes")
        return Request.of(door, method, path, body=self._body())

    def _query(self) -> str:
        names = ("tenant", "tenant_id", "user", "user_id", "conversation", "thread", "run", "q", "assistant", "member")
        return f"?{self._random.choice(names)}={self._random.choice(self._ids)}"

    def _body(self) -> dict[str, Any]:
        kind = self._random.randrange(4)
        thread, run = str(self._rows[Conversation].pk), self._rows[Run].run_id
        if kind == 0:
            return run_input("Tell me what was said", thread=thread, run=self._random.choice([run, str(uuid.uuid4())]))
        if kind == 1:
            resume = [
                {"interruptId": self._rows[ToolCall].call_id, "status": "resolved", "payload": {"approved": True}}
            ]
            return {**run_input("x", thread=thread), "messages": [], "resume": resume}
        if kind == 2:
            return {
                "model": self._rows[Assistant].slug,
                "messages": [{"role": "user", "content": "What was said?"}],
                "user": self._random.choice(self._ids),
            }
        names = ("title", "tenant", "tenant_id", "user", "user_id", "assistant", "conversation", "approved", "rating")
        return {name: self._random.choice(self._ids) for name in self._random.sample(names, 3)}

    def _talk(self, caller: Caller, door: str) -> Talk:
        kind = self._draw(list(self._frames), caller.name, "frames")
        frame = dict(self._random.choice(self._frames[kind]))
        if kind == "RunAgentInput" and frame.get("messages"):
            # With an id that was used before, the message would count as sent already.
            frame["messages"] = [{**one, "id": str(uuid.uuid4())} for one in frame["messages"]]
        if self._random.random() < 0.2:
            frame[self._random.choice(("tenant", "user", "assistant", "member"))] = self._random.choice(self._ids)
        return Talk(door, self._place(caller), kind, frame)

    def _place(self, caller: Caller) -> str:
        """Return an address, mostly the caller's own, because others end at the handshake."""
        is_own = self._random.random() < 0.9 and caller.tenant in {"acme", "globex"}
        return f"/ws/{caller.tenant if is_own else self._random.choice(('acme', 'globex'))}/support/"

    def _to_mcp(self, caller: Caller, door: str) -> Request:
        method = self._draw(list(self._mcp), caller.name, "methods")
        params, version = self._random.choice(self._mcp[method]), self._random.choice((MODERN, OLDER))
        name = str(params.get("name") or params.get("uri") or "")
        sent = headers(None, method, name, version) | {"content-type": "application/json"}
        return Request(
            door, "POST", "/mcp/", sent, json.dumps(message(method, params, version=version)), method in STREAMS
        )

    def _to_tool(self, caller: Caller, door: str) -> Talk:
        calls = [self._draw(self._calls, "calls") for _ in range(self._random.randint(1, 3))]
        return Talk(door, self._place(caller), "RunAgentInput", run_input(ORDER + json.dumps(calls)))
