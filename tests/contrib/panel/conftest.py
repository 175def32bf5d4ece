"""Fixtures of the admin's tests: signed-in clients, and rows."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from assistant.contrib.webhooks.services.events import send_test
from assistant.models import ApiKey, AuditEntry, Feedback, Message, Run, ToolCall, UsageEntry
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.contrib.webhooks.hooks import hook
from tests.factories import make_conversation, make_message, make_provider, make_run, switch_tool


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def root(cast: Cast) -> Client:
    """A browser in which the superuser is signed in."""
    return signed_in(cast.root)


@pytest.fixture
def amys(cast: Cast) -> Client:
    """A browser in which Acme's admin is signed in."""
    return signed_in(cast.amy)


def say_something(cast: Cast, *, tool: str = "current_time") -> Run:
    """Create a conversation of Alice's: messages, a run, a tool call, usage, feedback, a key and an audit entry."""
    conversation = make_conversation(cast.alice, cast.support, title="Opening hours")
    run = make_run(conversation)
    make_message(conversation, "user", "When do you open?", run=run)
    answer: Message = make_message(conversation, "assistant", "At nine.", run=run)
    tenant, user = cast.acme, cast.alice
    ToolCall.objects.create(tenant=tenant, run=run, call_id="c1", name=tool, arguments="{}", result='{"hour": 9}')
    UsageEntry.objects.create(tenant=tenant, user=user, assistant=cast.support, run=run, model="m")
    Feedback.objects.create(tenant=tenant, user=user, message=answer, rating=1)
    AuditEntry.objects.create(tenant=tenant, actor=cast.amy, action="prompt.publish", target="support v1")
    return run


def fill(cast: Cast, number: int) -> None:
    """Create `number` rows of every model that has a list."""
    for index in range(number):
        say_something(cast)
        switch_tool(cast.acme, f"tool_{cast.acme.tool_settings.count()}")
        create_api_key(tenant=cast.acme, user=cast.alice, name=f"key {index}")
        make_provider(cast.acme, base_url="https://llm.example.com/v1")
        send_test(webhook=hook(cast.acme, "https://hooks.example.com/"))
    assert ApiKey.objects.exists()
