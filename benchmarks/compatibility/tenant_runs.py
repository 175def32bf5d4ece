"""Runs given calls as tenants' runs over the websocket, on a database of its own, as if a model had asked for them."""

from __future__ import annotations

import atexit
import functools
import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from assistant.client import CalledTool, ToolCall
from assistant.providers import ScriptedModel
from assistant.toolkit import Registry, Tool
from benchmarks.compatibility.turns import Call

MEMBER = "ann"
ASSISTANT = "main"


@functools.cache
def start_site() -> None:
    """Set up a project with nothing but the assistant, on a new SQLite database that is deleted with the process.

    It does nothing in a process whose project is set up.
    """
    import django
    from django.conf import settings

    if settings.configured:
        return
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    settings.configure(
        SECRET_KEY="compatibility" * 5,
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF="benchmarks.compatibility.urls",
        INSTALLED_APPS=[f"django.contrib.{app}" for app in ("auth", "contenttypes", "sessions")] + ["assistant"],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": Path(folder.name) / "db.sqlite3",
                "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20},
            }
        },
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
    )
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def run_calls(slug: str, tools: Iterable[Tool], rounds: Sequence[Sequence[Call]]) -> list[CalledTool]:
    """Return what the audit has of the calls of one run of a new tenant, in their order.

    Args:
        rounds: each inner list is one answer of the model.

    Raises:
        RuntimeError: the run has not ended well.
    """
    start_site()
    from assistant.models import ToolCall as StoredCall
    from assistant.services.toolpolicy import catalogue
    from assistant.testing import ChatTester, answer_with

    turns: list[Any] = [[ToolCall("", name, json.dumps(arguments)) for name, arguments in calls] for calls in rounds]
    offered = Registry(tools)
    tenant, user = _make_tenant(slug, offered)
    with catalogue.using(offered), answer_with(ScriptedModel([*turns, "Done."])), ChatTester(tenant, user) as chat:
        answer = chat.ask("Go")
    if answer.text != "Done.":
        raise RuntimeError(f"The run of {slug} ended with {answer.events[-1]}.")
    stored = {row.call_id: row for row in StoredCall.objects.filter(tenant=tenant)}
    called = [event["toolCallId"] for event in answer.events if event["type"] == "TOOL_CALL_START"]
    return [_called(stored[call_id]) for call_id in called]


def _make_tenant(slug: str, tools: Iterable[Tool]) -> tuple[Any, Any]:
    """Create a tenant with tools, a member, and an assistant without limits; return the tenant and the user."""
    from django.contrib.auth import get_user_model

    from assistant.models import Assistant, Membership, Tenant, ToolSetting

    tenant = Tenant.objects.create(slug=slug, name=slug)
    user, _ = get_user_model().objects.get_or_create(username=MEMBER)
    Membership.objects.create(tenant=tenant, user=user)
    unlimited = dict.fromkeys(("max_rounds", "max_tool_calls", "max_calls_per_tool", "max_seconds"), 0)
    Assistant.objects.create(tenant=tenant, slug=ASSISTANT, name=ASSISTANT, extensions=[], **unlimited)
    ToolSetting.objects.bulk_create([ToolSetting(tenant=tenant, tool=tool.name, policy="on") for tool in tools])
    return tenant, user


def _called(row: Any) -> CalledTool:
    return CalledTool(
        id=row.call_id,
        name=row.name,
        arguments=json.loads(row.arguments),
        status=row.status,
        result=row.told or row.result,
        error=row.error,
    )
