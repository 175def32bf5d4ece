"""Imports assistants: their settings, published prompts and switches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from assistant.contrib.bundles.services.difference import Entry, FieldChange, kind_of
from assistant.contrib.bundles.services.export import published_prompt, read_assistants
from assistant.contrib.bundles.services.format import ASSISTANT_COLUMNS, ASSISTANT_PROVIDERS, AssistantPart
from assistant.contrib.bundles.services.import_tools import import_tools
from assistant.contrib.bundles.services.target import Target, put, put_provider, refused
from assistant.models import Assistant
from assistant.services.assistants.configuration import MAX_STARTERS, read_schema
from assistant.services.assistants.prompt_values import UnknownVariables
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from assistant.services.assistants.welcome import read_translations


def import_assistants(target: Target, parts: Sequence[AssistantPart], *, is_whole: bool) -> Iterator[Entry]:
    """Create and change assistants. `is_whole`: the bundle is a tenant's, so that others are only here."""
    stored = {row.slug: row for row in read_assistants(target.tenant)}
    for part in parts:
        row: Any = stored.get(part.slug)
        is_new = row is None
        row = row or Assistant(tenant=target.tenant, slug=part.slug)
        try:
            of_columns, problems = _set_columns(target, part, row, is_new)
        except ValidationError as exc:
            yield refused("assistant", part.slug, exc)
            continue
        yield from problems
        of_prompt: list[FieldChange] = []
        try:
            of_prompt = _publish(target, part, row)
        except UnknownVariables as exc:
            yield refused("assistant", part.slug, exc)
        changes = (*of_columns, *of_prompt)
        yield Entry(kind_of(changes, is_new=is_new), "assistant", part.slug, changes)
        yield from import_tools(target, row, part.tools, is_whole=True)
    if is_whole:
        named = {part.slug for part in parts}
        yield from (Entry("kept", "assistant", slug) for slug in stored if slug not in named)


def _set_columns(
    target: Target, part: AssistantPart, row: Assistant, is_new: bool
) -> tuple[list[FieldChange], list[Entry]]:
    """Set and save the columns of an assistant. Raises `ValidationError`: it is not taken."""
    problems: list[Entry] = []
    if len(part.starters) > MAX_STARTERS:
        raise ValidationError(_("It has more than %(number)d starter prompts.") % {"number": MAX_STARTERS})
    # A bundle of an older version lacks the newer columns, which stay as they are.
    values = {name: getattr(part, name) for name in ASSISTANT_COLUMNS if name in part.model_fields_set}
    try:
        values["answer_schema"] = read_schema(values["answer_schema"]) if values["answer_schema"] else None
    except ValueError as exc:
        raise ValidationError(f"answer_schema: {exc}") from None
    if "translations" in values:
        try:
            values["translations"] = read_translations(values["translations"])
        except ValueError as exc:
            raise ValidationError(str(exc)) from None
    changes = list(put(row, values))
    for name in sorted(part.model_fields_set.intersection(ASSISTANT_PROVIDERS)):
        try:
            changes += put_provider(target, row, name, getattr(part, name))
        except LookupError as exc:
            problems.append(refused("assistant", part.slug, exc))
    if is_new:
        row.save()
    elif changes:
        row.save(update_fields=[*(one.name for one in changes), "updated_at"])
    return changes, problems


def _publish(target: Target, part: AssistantPart, row: Assistant) -> list[FieldChange]:
    """Publish the prompt if it is another one; a bundle without a prompt leaves the published one alone.

    Raises `UnknownVariables` if it names variables that the tenant does not have.
    """
    published = published_prompt(row)
    if part.prompt is None or part.prompt == published:
        return []
    with transaction.atomic():
        version = draft_prompt(assistant=row, text=part.prompt, note=_("Imported from a bundle"), actor=target.actor)
        publish_prompt(version=version, actor=target.actor)
    return [FieldChange("prompt", published, part.prompt)]
