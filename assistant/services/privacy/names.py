"""Replaces a person's names in records that stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib.admin.models import LogEntry
from django.db.models import CharField, EmailField, Q, TextField

from assistant import optional_apps
from assistant.models import AuditEntry
from assistant.services.tenancy.end_users import directory
from assistant.services.tenancy.host import get_host

# Shorter names are not replaced, because they occur as parts of other words.
MIN_NAME_LENGTH = 3


def names_of(user: Any) -> list[str]:
    """Return a person's names, the longest first: what they sign in with, and all fields of theirs that hold a name."""
    end_user = directory().find(user_id=user.pk)
    names = [str(user.get_username()), *(str(getattr(user, name) or "") for name in _name_fields(type(user)))]
    names += [end_user.external_id, end_user.name] if end_user else []
    return sorted({name for name in names if len(name) >= MIN_NAME_LENGTH}, key=len, reverse=True)


def _name_fields(model: Any) -> Iterator[str]:
    host = get_host()
    declared = set(host.name_fields) if host is not None else set()
    for field in model._meta.concrete_fields:
        is_name = isinstance(field, CharField | TextField) and not field.choices and "name" in field.name
        if is_name or isinstance(field, EmailField) or field.name in declared:
            yield field.attname


def replace_names(names: Sequence[str], replacement: str, *, is_ours_alone: bool) -> None:
    """Replace a person's names in audit entries and in Django's admin log.

    Args:
        is_ours_alone: leave the log's entries about other apps' rows as they are.
    """
    if not names:
        return
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names), re.IGNORECASE)

    def mentions(*fields: str) -> Q:
        wanted = Q()
        # Names that are not ASCII cannot be searched: JSON is stored with them escaped, and SQLite ignores the case of
        # ASCII letters only. All rows are read then.
        if all(name.isascii() for name in names):
            for field in fields:
                for name in names:
                    wanted |= Q(**{f"{field}__icontains": name})
        return wanted

    for entry in AuditEntry.objects.filter(mentions("target", "details")):
        before = entry.target, entry.details
        entry.target, entry.details = (
            pattern.sub(replacement, entry.target),
            _replace_in_json(entry.details, pattern, replacement),
        )
        if (entry.target, entry.details) != before:
            entry.save(update_fields=["target", "details"])
    log = LogEntry.objects.all()
    if is_ours_alone:
        log = log.filter(content_type__app_label__in=optional_apps.labels())
    for line in log.filter(mentions("object_repr", "change_message")):
        before = line.object_repr, line.change_message
        line.object_repr = pattern.sub(replacement, line.object_repr)
        line.change_message = _replace_in_message(line.change_message, pattern, replacement)
        if (line.object_repr, line.change_message) != before:
            line.save(update_fields=["object_repr", "change_message"])


def _replace_in_json(details: Any, pattern: re.Pattern[str], replacement: str) -> Any:
    return json.loads(pattern.sub(replacement, json.dumps(details, ensure_ascii=False)))


def _replace_in_message(message: str, pattern: re.Pattern[str], replacement: str) -> str:
    """Replace in a message of Django's admin log, which is JSON or a sentence."""
    try:
        return json.dumps(_replace_in_json(json.loads(message), pattern, replacement))
    except ValueError:
        return pattern.sub(replacement, message)
