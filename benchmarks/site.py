"""The rows that the product is measured with: a tenant, its members, and an assistant with 20 tools."""

from __future__ import annotations

import json
import sys
import uuid
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import AbstractBaseUser
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from assistant.models import Assistant, Conversation, Membership, Message, Run, Tenant, ToolSetting
from assistant.services.tenancy.members import create_api_key
from assistant.services.toolpolicy import catalogue

TENANT, ASSISTANT, TOOLS = "bench", "support", 20
# The frames of a member are limited to a hundred a second, so the streams belong to several members.
MEMBERS = 10
LONG = (1_000, 10_000)
TEXT = "Some words of **Markdown** as answers have them, and a `piece of code`. "


def build() -> list[str]:
    """Migrate, create the rows, and return the members' API keys."""
    call_command("migrate", verbosity=0)
    tenant = Tenant.objects.create(slug=TENANT, name="Bench")
    Assistant.objects.create(tenant=tenant, slug=ASSISTANT, name="Support")
    names = [tool.name for tool in catalogue.registry()]
    wanted = ["add", *(name for name in names if name != "add")][:TOOLS]
    for name in names:
        policy = ToolSetting.Policy.ON if name in wanted else ToolSetting.Policy.OFF
        ToolSetting.objects.create(tenant=tenant, tool=name, policy=policy)
    return [_key(tenant, _member(tenant, f"member-{number}")) for number in range(MEMBERS)]


def visitors(count: int) -> list[str]:
    """Create more members, sign them in, and return their session cookies."""
    users = get_user_model().objects.bulk_create(
        [get_user_model()(username=f"visitor-{number}", password=make_password(None)) for number in range(count)]
    )
    tenant = Tenant.objects.get(slug=TENANT)
    Membership.objects.bulk_create([Membership(tenant=tenant, user=user) for user in users])
    return [session_of(user.get_username()) for user in users]


def session_of(username: str) -> str:
    """Sign a user in, and return the session cookie."""
    client = Client()
    client.force_login(get_user_model().objects.get(username=username))
    return client.cookies["sessionid"].value


def _member(tenant: Tenant, username: str) -> AbstractBaseUser:
    user = get_user_model().objects.create_user(username, password="bench-password")
    Membership.objects.create(tenant=tenant, user=user)
    return user


def _key(tenant: Tenant, user: AbstractBaseUser) -> str:
    return create_api_key(tenant=tenant, user=user, name="bench", expires_at=timezone.now() + timedelta(days=1))[1]


def make_thread(messages: int, *, username: str = "member-0") -> uuid.UUID:
    """Create a conversation with so many messages, of user and assistant in turn, and return its id."""
    tenant, assistant = Tenant.objects.get(slug=TENANT), Assistant.objects.get(slug=ASSISTANT)
    user = get_user_model().objects.get(username=username)
    conversation = Conversation.objects.create(
        tenant=tenant, user=user, assistant=assistant, title="Long", run_count=1, message_count=messages
    )
    run_id = str(uuid.uuid4())
    run = Run.objects.create(
        tenant=tenant,
        user=user,
        assistant=assistant,
        conversation=conversation,
        run_id=run_id,
        number=1,
        status=Run.Status.FINISHED,
        ending={"type": "RUN_FINISHED", "threadId": str(conversation.pk), "runId": run_id},
        checkpoint_seq=2,
        ended_at=timezone.now(),
    )
    rows = [_message(conversation, run, place) for place in range(messages)]
    Message.objects.bulk_create(rows, batch_size=1000)
    return conversation.pk


def _message(conversation: Conversation, run: Run, place: int) -> Message:
    return Message(
        conversation=conversation,
        run=run,
        position=place,
        message_id=str(uuid.uuid4()),
        role="assistant" if place % 2 else "user",
        content=TEXT * (2 if place % 2 else 1),
    )


def main() -> None:
    """Create all rows, and print the members' keys and sessions and the first member's threads by length as JSON.

    The first argument is the number of additional members, whose sessions come last.
    """
    made = {
        "keys": build(),
        "sessions": [session_of(f"member-{number}") for number in range(MEMBERS)] + visitors(int(sys.argv[1])),
        "threads": {size: str(make_thread(size)) for size in LONG},
    }
    print(json.dumps(made), flush=True)
