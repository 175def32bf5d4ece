"""Stores what was typed into the editor of an assistant's prompt; nothing typed is lost if others changed the draft."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from django.db import transaction

from assistant.models import Assistant, PromptVersion
from assistant.services.assistants.prompts import (
    draft_prompt,
    edit_draft,
    lock_assistant,
    publish_prompt,
    text_to_edit,
)
from assistant.services.tenancy import audit_trail


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed into the editor.

    Attributes:
        draft_id: the draft that it began with; None for a new version.
        seen: the `state_of` that draft when the editor showed it.
    """

    text: str
    note: str
    label: str
    draft_id: int | None = None
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Saved:
    """The version in which something was saved; `is_apart` if it is another one than the draft that it began with."""

    version: PromptVersion
    is_apart: bool


def state_of(version: PromptVersion) -> str:
    """Return a digest of what the editor shows of a version."""
    shown = "\0".join((version.status, text_to_edit(version), version.note, version.label))
    return sha256(shown.encode(errors="surrogatepass")).hexdigest()[:16]


@transaction.atomic
def save_typed(
    *, assistant: Assistant, typed: Typed, is_published: bool = False, actor: audit_trail.Actor = None
) -> Saved:
    """Save what was typed in the draft that it began with, and publish it if asked to.

    If somebody has changed, published or deleted that draft since, it is saved as a new version instead.

    Raises:
        UnknownVariables: the text names variables that the tenant does not have; nothing was saved.
    """
    lock_assistant(assistant.pk)
    found = None if typed.draft_id is None else assistant.prompt_versions.filter(pk=typed.draft_id).first()
    is_own = found is not None and found.status == PromptVersion.Status.DRAFT and state_of(found) == typed.seen
    if found is not None and is_own:
        version = edit_draft(version=found, text=typed.text, note=typed.note, label=typed.label, actor=actor)
    else:
        version = draft_prompt(assistant=assistant, text=typed.text, note=typed.note, label=typed.label, actor=actor)
    if is_published:
        publish_prompt(version=version, actor=actor)
    return Saved(version, is_apart=typed.draft_id is not None and not is_own)
