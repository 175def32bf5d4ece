"""The embedded model itself, end to end and unscripted, with the demo's tools and data.

`make test-model` asks the demo's own questions. `make evaluate` asks sixty and stores the figures as a record. With
`FENCED=true` all results are sent as text from outside is, between markers; `SAMPLE=3` asks every third question. Both
leave the record as it is.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import override_settings

from assistant.client import ChatClient, ChatReply, Limits, RunFailed
from assistant.contrib.demo.tenants import load_demo_tenants
from assistant.contrib.local_model.management.commands.assistant_local_model import Command
from assistant.contrib.local_model.warm_up_requests import likely_requests
from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.messages import Message
from assistant.models import Membership
from assistant.providers.embedded import EmbeddedModel, EmbeddedServer, is_ready, start_server
from assistant.providers.embedded.fetch import fetch
from assistant.providers.embedded.model import prepared
from assistant.providers.embedded.progress_bar import ProgressBar
from assistant.providers.openai_wire.request_body import request_body
from assistant.toolkit import TenantInfo, Tool, UserInfo
from tests.contrib.weather.test_weather import PARIS, OpenMeteo, open_meteo  # noqa: F401 - a fixture
from tests.model.prompts import DEMO, PROMPTS, Prompt
from tests.model.record import Record, asked

pytestmark = [pytest.mark.model, pytest.mark.timeout(5400), pytest.mark.django_db(transaction=True)]

ALL = os.environ.get("EVALUATE") == "true"
FENCED, SAMPLE = os.environ.get("FENCED") == "true", int(os.environ.get("SAMPLE", "1"))
# Of the sixty.
MIN_RIGHT = 53
LOADING_SECONDS = 120.0
MAX_PROMPT_TOKENS = 1500
MIN_SHARED_TOKENS = 300


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    """The model, fetched if need be, in a process of its own as in the demo."""
    fetch(ProgressBar(Command().stdout), path=settings.ASSISTANT_LOCAL_MODEL_PATH)
    with start_server(read_ahead=False) as running:
        yield running


@dataclass(frozen=True, slots=True)
class Outcome:
    """One prompt's outcome, judged at once: what time it is counts in some answers."""

    prompt: Prompt
    reply: ChatReply[object]
    seconds: float
    has_right_tool: bool
    has_right_answer: bool

    def __str__(self) -> str:
        mark = "right" if self.has_right_answer else "tool " if self.has_right_tool else "WRONG"
        called = ", ".join(f"{call.name}({call.arguments})" for call in self.reply.tool_calls) or "no tool"
        return (
            f"{mark} {self.seconds:5.1f}s  {self.prompt.text} -> {called} -> {' '.join(self.reply.text.split())[:160]}"
        )


@pytest.fixture
def clients(server: EmbeddedServer, open_meteo: OpenMeteo) -> dict[str, ChatClient]:  # noqa: F811
    """Alice's assistants at Acme, each with its own prompt and tools."""
    open_meteo.say("/v1/search", {"results": [PARIS]})
    with override_settings(DEBUG=True):
        load_demo_tenants()
    alice = Membership.objects.select_related("tenant", "user").get(user__username="alice", tenant__slug="acme")
    context = {
        "tenant": TenantInfo(alice.tenant.pk, alice.tenant.slug, alice.tenant.name, alice.tenant.timezone),
        "user": UserInfo(alice.user.pk, alice.user.username),
    }
    model = EmbeddedModel(server.base_url)
    limits = Limits(rounds=5, seconds=300)
    return {
        slug: ChatClient(
            model=model, system=request.messages[0].content, tools=_free(request.tools), context=context, limits=limits
        )
        for slug, request in zip(("support", "front-desk"), likely_requests(count=3)[::2], strict=True)
    }


def _free(tools: Sequence[Tool]) -> list[Tool]:
    """The tools as they are once somebody has approved the call."""
    return [tool.replace(requires_approval=False, untrusted=tool.untrusted or FENCED) for tool in tools]


async def ask(client: ChatClient, prompt: Prompt) -> Outcome:
    started = time.monotonic()
    try:
        reply = await client.call(prompt.text)
    except RunFailed as exc:
        reply = exc.reply
    chose_well = prompt.chose_well(reply)
    return Outcome(prompt, reply, time.monotonic() - started, chose_well, chose_well and prompt.is_right(reply.text))


async def test_the_model_chooses_tools_and_answers(server: EmbeddedServer, clients: dict[str, ChatClient]) -> None:
    assert await is_ready(server.base_url, seconds=LOADING_SECONDS, absent_seconds=LOADING_SECONDS)
    outcomes = []
    # One assistant after the other: the server reads each one's tools once.
    for prompt in sorted((PROMPTS if ALL else DEMO)[::SAMPLE], key=lambda prompt: prompt.assistant):
        outcomes.append(await ask(clients[prompt.assistant], prompt))
        print(outcomes[-1], flush=True)
    tools = sum(outcome.has_right_tool for outcome in outcomes)
    answers = sum(outcome.has_right_answer for outcome in outcomes)
    print(f"{tools} of {len(outcomes)} chose the right tool, {answers} of {len(outcomes)} gave the right answer")
    failed = [outcome.prompt.text for outcome in outcomes if outcome.prompt in DEMO and not outcome.has_right_answer]
    assert not failed, "the demo's own questions must work"
    if ALL and SAMPLE == 1 and not FENCED:
        assert answers >= MIN_RIGHT
        Record(await sync_to_async(asked)(), len(outcomes), tools, answers).keep()


def count_tokens(server: EmbeddedServer, request: ModelRequest) -> list[int]:
    """The tokens of a request's prompt, as the server writes and counts it."""
    body = json.loads(request_body(prepared(request), model="", strict=False, with_usage=False))
    prompt = post(server, "apply-template", {"messages": body["messages"], "tools": body["tools"]})["prompt"]
    return list(post(server, "tokenize", {"content": prompt})["tokens"])


def post(server: EmbeddedServer, path: str, body: dict[str, Any]) -> Any:
    return httpx2.post(f"{server.base_url.removesuffix('/v1')}/{path}", json=body, timeout=60).raise_for_status().json()


async def test_prompts_of_the_demo_are_short_and_begin_alike(server: EmbeddedServer, clients: object) -> None:
    assert await is_ready(server.base_url, seconds=LOADING_SECONDS, absent_seconds=LOADING_SECONDS)
    requests = await sync_to_async(likely_requests)(count=4)
    texts = [prompt.text for prompt in PROMPTS]
    asked = [replace(one, messages=[one.messages[0], Message("user", text)]) for one in requests for text in texts]
    counted = [count_tokens(server, request) for request in asked]
    shared = next(place for place, tokens in enumerate(zip(*counted, strict=False)) if len({*tokens}) > 1)
    print(f"{max(map(len, counted))} tokens at most, of which {shared} are the same for all")
    assert max(map(len, counted)) <= MAX_PROMPT_TOKENS and shared >= MIN_SHARED_TOKENS
