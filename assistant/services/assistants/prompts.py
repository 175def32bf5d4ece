"""Versions of an assistant's system prompt: drafts, one published version, and archived ones."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from assistant.core.values.prompt_template import has_braces, with_escaped_braces
from assistant.models import Assistant, PromptVersion
from assistant.services.assistants.prompt_values import check_variables
from assistant.services.tenancy import audit_trail, change_notices


class PromptNotEditableError(ValueError):
    """Only drafts can be edited, so that the prompts of earlier answers remain readable."""


def next_number(*, assistant_id: int) -> int:
    """Return the number of an assistant's next version, counted from 1."""
    found = PromptVersion.objects.filter(assistant_id=assistant_id).aggregate(last=Max("number"))
    return (found["last"] or 0) + 1


def text_to_edit(version: PromptVersion) -> str:
    """Return the text for a new version that says the same; braces of versions older than variables are escaped."""
    return version.text if version.uses_variables else with_escaped_braces(version.text)


@transaction.atomic
def draft_prompt(
    *, assistant: Assistant, text: str, note: str = "", label: str = "", actor: audit_trail.Actor = None
) -> PromptVersion:
    """Create a draft. Locks the assistant's row, so that two drafts get different numbers.

    Raises:
        UnknownVariables: the text names variables that the tenant does not have.
    """
    check_variables(text, tenant_id=assistant.tenant_id)
    lock_assistant(assistant.pk)
    version = PromptVersion.objects.create(
        assistant=assistant,
        number=next_number(assistant_id=assistant.pk),
        text=text,
        note=note,
        label=label,
        uses_variables=has_braces(text),
        created_by_id=actor.pk if actor is not None else None,
    )
    _record(version, "prompt.draft", actor, {"label": (None, label or None)})
    return version


@transaction.atomic
def publish_prompt(
    *, version: PromptVersion, actor: audit_trail.Actor = None, was_scheduled: bool = False
) -> PromptVersion:
    """Publish a version, from the next run on, and archive the one that was published before.

    An archived version may be published again, to undo a change.

    Args:
        was_scheduled: whether its moment had come, which the audit says.

    Raises:
        UnknownVariables: a variable that the version names was deleted.
    """
    lock_assistant(version.assistant_id)
    if version.uses_variables:
        check_variables(version.text, tenant_id=version.assistant.tenant_id)
    others = PromptVersion.objects.filter(assistant_id=version.assistant_id, status=PromptVersion.Status.PUBLISHED)
    before = others.values_list("number", flat=True).first()
    others.exclude(pk=version.pk).update(status=PromptVersion.Status.ARCHIVED)
    version.status = PromptVersion.Status.PUBLISHED
    version.published_at = timezone.now()
    version.save(update_fields=["status", "published_at"])
    changed = {"published version": (before, version.number)}
    _record(version, "prompt.publish", actor, changed, **({"scheduled": True} if was_scheduled else {}))
    change_notices.notify()
    return version


@transaction.atomic
def edit_draft(
    *, version: PromptVersion, text: str, note: str, label: str | None = None, actor: audit_trail.Actor = None
) -> PromptVersion:
    """Change a draft.

    Args:
        label: None to keep it.

    Raises:
        PromptNotEditableError: the version is or was published.
        UnknownVariables: the text names variables that the tenant does not have.
    """
    lock_assistant(version.assistant_id)
    before = version.assistant.prompt_versions.get(pk=version.pk)
    version.status = before.status
    if version.status != PromptVersion.Status.DRAFT:
        raise PromptNotEditableError("A published version does not change; write a new draft.")
    check_variables(text, tenant_id=version.assistant.tenant_id)
    version.text, version.note, version.uses_variables = text, note, has_braces(text)
    version.label = before.label if label is None else label
    version.save(update_fields=["text", "note", "label", "uses_variables"])
    changed = {
        "characters": (len(before.text), len(text)),
        "note": (before.note or None, note or None),
        "label": (before.label or None, version.label or None),
    }
    _record(version, "prompt.edit", actor, changed)
    return version


@transaction.atomic
def label_prompt(*, version: PromptVersion, label: str, actor: audit_trail.Actor = None) -> PromptVersion:
    """Give a version a label, which published ones may have too; "" takes it away."""
    lock_assistant(version.assistant_id)
    version.refresh_from_db(fields=["label"])
    before, version.label = version.label, label
    if before != label:
        version.save(update_fields=["label"])
        _record(version, "prompt.label", actor, {"label": (before or None, label or None)})
    return version


def lock_assistant(assistant_id: int) -> None:
    """Lock an assistant's row until the transaction ends: its versions change one after the other."""
    Assistant.objects.select_for_update().only("pk").get(pk=assistant_id)


def _record(
    version: PromptVersion,
    action: str,
    actor: audit_trail.Actor,
    changed: Mapping[str, tuple[object, object]],
    **details: object,
) -> None:
    """Record a change with the values before and after; those that stayed are left out."""
    values = {
        name: [None if value is None else str(value) for value in pair]
        for name, pair in changed.items()
        if pair[0] != pair[1]
    }
    audit_trail.record(
        actor=actor,
        action=action,
        target=f"{version.assistant.slug} v{version.number}",
        tenant=version.assistant.tenant,
        details={**({"values": values} if values else {}), **details},
    )
