"""Makes a conversation of an export that this deployment has signed for the same tenant, and that nobody changed."""

from __future__ import annotations

import hmac
import json
import uuid
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from assistant.models import Assistant, Conversation, Run
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.members import Member

MAX_IMPORT_BYTES = 4 * 1024 * 1024
# Messages of an export that are taken, and conversations that a member may import in a minute.
MAX_IMPORTED = 1_000
MAX_PER_MINUTE = 10
# What the answers' text is marked with: it may come from documents and pages, as before.
IMPORTED = "imported conversation"
_SALT = "assistant.conversation-export"


class ImportRefused(ValueError):
    """A file cannot be imported. People read the message."""


def signature_of(export: Mapping[str, Any], *, tenant_id: int) -> str:
    """Return what proves that an export is this deployment's own, for this tenant, and unchanged."""
    signed = {name: value for name, value in export.items() if name != "signature"}
    text = json.dumps([tenant_id, signed], sort_keys=True, separators=(",", ":"), default=str)
    return salted_hmac(_SALT, text, algorithm="sha256").hexdigest()


def import_conversation(*, member: Member, content: bytes) -> Conversation:
    """Make a conversation of a member from the JSON export of one, with the texts of the path that was shown.

    Calls of tools and files are left out, and all of it counts as untrusted text.

    Raises:
        ImportRefused: it is too large, no export, changed, or another tenant's; or too many were imported just now.
    """
    export = _read(content)
    given = export.get("signature")
    expected = signature_of(export, tenant_id=member.tenant_id)
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), expected.encode()):
        raise ImportRefused(_("This is no export of a conversation of yours here, or it was changed."))
    since = timezone.now() - timedelta(minutes=1)
    newest = Conversation.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, created_at__gte=since)
    if newest.count() >= MAX_PER_MINUTE:
        raise ImportRefused(_("Too many conversations were made just now. Try again in a minute."))
    assistants = (
        Assistant.objects.select_related("tenant").filter(tenant_id=member.tenant_id, is_active=True).order_by("pk")
    )
    assistant = assistants.filter(slug=export.get("assistant", "")).first() or assistants.first()
    if assistant is None:
        raise ImportRefused(_("There is no assistant to go on with it."))
    texts = list(_texts(export))
    with transaction.atomic():
        made = _store(member, assistant, str(export.get("title", ""))[:200], texts)
        audit_trail.record(
            actor=get_user_model()._base_manager.get(pk=member.user_id),
            action="conversation.import",
            target=f"conversation {made.pk}",
            tenant=assistant.tenant,
            details={"messages": len(texts)},
        )
    return made


def _read(content: bytes) -> dict[str, Any]:
    if len(content) > MAX_IMPORT_BYTES:
        raise ImportRefused(_("This file is too large."))
    try:
        export = json.loads(content)
    except (ValueError, RecursionError):
        export = None
    if not isinstance(export, dict):
        raise ImportRefused(_("This is no export of a conversation of yours here, or it was changed."))
    return export


def _texts(export: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the role and the text of the messages that were shown; the newest, if they are too many."""
    shown = [one for one in export["messages"] if one.get("is_shown", True) and not one.get("is_superseded")]
    for one in shown[-MAX_IMPORTED:]:
        if one["role"] in ("user", "assistant") and one["content"]:
            yield one["role"], one["content"]


def _store(member: Member, assistant: Assistant, title: str, texts: list[tuple[str, str]]) -> Conversation:
    made = Conversation.objects.create(
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        assistant=assistant,
        title=title,
        # As it was exported: what is asked next does not give it another.
        title_origin=Conversation.TitleOrigin.PERSON if title else Conversation.TitleOrigin.FIRST_WORDS,
        run_count=1,
        message_count=len(texts),
    )
    run_id = str(uuid.uuid4())
    run = Run.objects.create(
        tenant_id=member.tenant_id,
        conversation=made,
        user_id=member.user_id,
        assistant=assistant,
        run_id=run_id,
        number=1,
        status=Run.Status.FINISHED,
        ending={"type": "RUN_FINISHED", "threadId": str(made.client_id), "runId": run_id},
        checkpoint_seq=2,
        ended_at=timezone.now(),
    )
    for position, (role, text) in enumerate(texts):
        made.messages.create(
            run=run,
            position=position,
            message_id=str(uuid.uuid4()),
            role=role,
            content=text,
            # The questions too: the export may be that of a colleague, who must not speak with this member's words.
            sources=[IMPORTED],
        )
    return made
