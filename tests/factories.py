"""Creates valid rows for tests, which name only the values that they are about."""

from __future__ import annotations

import itertools
import uuid
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Max
from django.utils import timezone

from assistant.models import (
    Assistant,
    Conversation,
    Membership,
    Message,
    PromptVersion,
    Provider,
    Run,
    Tenant,
    ToolSetting,
)

_numbers = itertools.count(1)


def make_tenant(slug: str = "", **fields: Any) -> Tenant:
    slug = slug or f"tenant-{next(_numbers)}"
    return Tenant.objects.create(slug=slug, **{"name": slug.title(), **fields})


def make_user(username: str = "", *, password: str = "", **fields: Any) -> User:
    """Create a user; without a password only `Client.force_login` can sign in."""
    return User.objects.create_user(username or f"user-{next(_numbers)}", password=password or None, **fields)


def make_member(tenant: Tenant, username: str = "", *, role: str = Membership.Role.MEMBER, **fields: Any) -> User:
    """Create a user who is a member of `tenant`; admins and owners may use the admin."""
    is_staff = role != Membership.Role.MEMBER
    user = make_user(username, **{"is_staff": is_staff, **fields})
    Membership.objects.create(tenant=tenant, user=user, role=role)
    return user


def make_provider(tenant: Tenant | None = None, *, base_url: str, **fields: Any) -> Provider:
    """Create a provider, usually with the address of a `FakeProvider`; without a tenant it is for all."""
    name = f"provider-{next(_numbers)}"
    return Provider.objects.create(
        tenant=tenant,
        base_url=base_url,
        **{"name": name, "api_key": "sk-test", "default_model": "test-model", **fields},
    )


def make_assistant(tenant: Tenant, slug: str = "", *, prompt: str = "", **fields: Any) -> Assistant:
    """Create an assistant; `prompt`, if given, is published."""
    slug = slug or f"assistant-{next(_numbers)}"
    assistant = Assistant.objects.create(tenant=tenant, slug=slug, **{"name": slug.title(), **fields})
    if prompt:
        PromptVersion.objects.create(
            assistant=assistant,
            number=1,
            text=prompt,
            status=PromptVersion.Status.PUBLISHED,
            published_at=timezone.now(),
        )
    return assistant


def switch_tool(
    tenant: Tenant, tool: str, policy: str = ToolSetting.Policy.ON, *, assistant: Assistant | None = None
) -> ToolSetting:
    """Set the switch of a tool for a tenant, or for one of its assistants."""
    setting, _ = ToolSetting.objects.update_or_create(
        tenant=tenant, assistant=assistant, tool=tool, defaults={"policy": policy}
    )
    return setting


def make_conversation(user: User, assistant: Assistant, **fields: Any) -> Conversation:
    return Conversation.objects.create(user=user, assistant=assistant, tenant=assistant.tenant, **fields)


def make_message(conversation: Conversation, role: str = "user", content: str = "Hello", **fields: Any) -> Message:
    """Create the conversation's next message."""
    last = conversation.messages.aggregate(last=Max("position"))["last"] or 0
    return Message.objects.create(
        conversation=conversation,
        role=role,
        content=content,
        **{"position": last + 1, "message_id": str(uuid.uuid4()), **fields},
    )


def make_run(conversation: Conversation, **fields: Any) -> Run:
    """Create the conversation's next run, by default a finished one."""
    last = conversation.runs.aggregate(last=Max("number"))["last"] or 0
    return Run.objects.create(
        conversation=conversation,
        tenant=conversation.tenant,
        user=conversation.user,
        assistant=conversation.assistant,
        **{"run_id": str(uuid.uuid4()), "number": last + 1, "status": Run.Status.FINISHED, **fields},
    )
