"""Versions of an assistant's system prompt: drafts, one published version, and archived ones."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from assistant.models import Assistant, PromptVersion
from assistant.services.tenancy import audit_trail, change_notices


class PromptNotEditableError(ValueError):
    """Only drafts can be edited, so that the prompts of earlier answers remain readable."""


def next_number(*, assistant_id: int) -> int:
    """Return the number of an assistant's next version, counted from 1."""
    found = PromptVersion.objects.filter(assistant_id=assistant_id).aggregate(last=Max("number"))
    return (found["last"] or 0) + 1


@transaction.atomic
def draft_prompt(*, assistant: Assistant, text: str, note: str = "", actor: audit_trail.Actor = None) -> PromptVersion:
    """Create a draft. Locks the assistant's row, so that two drafts get different numbers."""
    _lock(assistant.pk)
    version = PromptVersion.objects.create(
        assistant=assistant,
        number=next_number(assistant_id=assistant.pk),
        text=text,
        note=note,
        created_by_id=actor.pk if actor is not None else None,
    )
    _record(version, "prompt.draft", actor)
    return version


@transaction.atomic
def publish_prompt(*, version: PromptVersion, actor: audit_trail.Actor = None) -> PromptVersion:
    """Publish a version, from the next run on, and archive the one that was published before.

    An archived version may be published again, to undo a change.
    """
    _lock(version.assistant_id)
    others = PromptVersion.objects.filter(assistant_id=version.assistant_id, status=PromptVersion.Status.PUBLISHED)
    others.exclude(pk=version.pk).update(status=PromptVersion.Status.ARCHIVED)
    version.status = PromptVersion.Status.PUBLISHED
    version.published_at = timezone.now()
    version.save(update_fields=["status", "published_at"])
    _record(version, "prompt.publish", actor)
    change_notices.notify()
    return version


@transaction.atomic
def edit_draft(*, version: PromptVersion, text: str, note: str, actor: audit_trail.Actor = None) -> PromptVersion:
    """Change a draft. Raises `PromptNotEditableError` if the version is or was published."""
    _lock(version.assistant_id)
    version.refresh_from_db(fields=["status"])
    if version.status != PromptVersion.Status.DRAFT:
        raise PromptNotEditableError("A published version does not change; write a new draft.")
    version.text, version.note = text, note
    version.save(update_fields=["text", "note"])
    _record(version, "prompt.edit", actor)
    return version


def _lock(assistant_id: int) -> None:
    Assistant.objects.select_for_update().only("pk").get(pk=assistant_id)


def _record(version: PromptVersion, action: str, actor: audit_trail.Actor) -> None:
    audit_trail.record(
        actor=actor,
        action=action,
        target=f"{version.assistant.slug} v{version.number}",
        tenant=version.assistant.tenant,
    )
