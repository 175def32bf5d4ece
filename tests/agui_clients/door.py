"""Talks to the AG-UI door over HTTP as its clients do: whole inputs, and the events of the answers."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from assistant.models import Tenant
from assistant.services.tenancy.members import create_api_key
from tests.agui import Frame
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import run_input

RUNS = "/api/v1/tenants/{tenant}/assistants/support/runs/"


class Talk:
    """One client of one member, with the messages that it has so far."""

    def __init__(self, client: httpx2.AsyncClient, tenant: str, thread: str) -> None:
        self.client = client
        self.address = RUNS.format(tenant=tenant)
        self.thread = thread
        self.messages: list[Frame] = []

    def given(self, text: str = "", **fields: Any) -> Frame:
        """An input with the whole history, and after it a message with this text, if there is one."""
        if text:
            self.messages.append({"id": f"u{len(self.messages)}", "role": "user", "content": text})
        return run_input("", thread=self.thread, **{"messages": list(self.messages), **fields})

    async def post(self, given: Frame) -> list[Frame]:
        """Send an input and return all events of the answer."""
        answer = await self.client.post(self.address, json=given)
        assert answer.status_code == 200, answer.text
        return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]

    async def ask(self, text: str = "", **fields: Any) -> list[Frame]:
        return await self.post(self.given(text, **fields))

    async def answer(self, interrupt: Frame, payload: Any = None, **fields: Any) -> list[Frame]:
        """Answer one interrupt, or abandon it without a payload."""
        return await self.ask(resume=[entry(interrupt, payload)], **fields)


def entry(interrupt: Frame, payload: Any = None) -> Frame:
    """An entry of `resume`; without a payload the interrupt is abandoned."""
    if payload is None:
        return {"interruptId": interrupt["id"], "status": "cancelled"}
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}


def interrupts_of(events: list[Frame]) -> list[Frame]:
    assert events[-1]["outcome"]["type"] == "interrupt", events[-1]
    return list(events[-1]["outcome"]["interrupts"])


def error_of(events: list[Frame]) -> str:
    """The code of a refused run, whose stream begins as any other."""
    start, error = events
    assert (start["type"], error["type"]) == ("RUN_STARTED", "RUN_ERROR"), events
    return str(error["code"])


def sent(fake_provider: FakeProvider) -> list[str]:
    """The texts that the model was sent last, without the prompt."""
    return [str(message["content"]) for message in fake_provider.requests[-1].json["messages"][1:]]


@asynccontextmanager
async def talking(
    server: Server, tenant: Tenant, user: User, *, thread: str = "", **headers: str
) -> AsyncIterator[Talk]:
    _, key = await sync_to_async(create_api_key)(tenant=tenant, user=user, name="test")
    headers = {"Authorization": f"Bearer {key}", **headers}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=30) as client:
        yield Talk(client, tenant.slug, thread or str(uuid.uuid4()))
