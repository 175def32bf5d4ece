"""What pages call the fields of our models and their values, and whose a limit is."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from assistant.models import TenantLimits
from assistant.models.limits import OF_ATTACHMENTS, OF_END_USER, OF_MEMBER, OF_TENANT
from assistant.models.tool_settings import FOLLOW
from assistant.optional_apps import own_models


def name_of(field: str) -> Any:
    """Return what our models call a field of this name, in the language of the page."""
    names = (one.verbose_name for model in own_models() for one in model._meta.fields if one.name == field)
    return next((name for name in names if isinstance(name, Promise)), field.replace("_", " "))


def label_of(model: type[models.Model] | None, name: str) -> str:
    """Return what pages call a field of a model, in the language of the page; of a limit also whose it is.

    A name that is not a field, such as one that a later version removed, is returned in words.
    """
    label = str(getattr(_field(model, name), "verbose_name", "") or name_of(name))
    whose = _WHOSE.get(name) if model is TenantLimits else None
    return f"{whose}: {label}" if whose else label


def shown_value(model: type[models.Model] | None, name: str, value: object) -> object:
    """Return a value of a field as people read it: the label of a choice, "yes" or "no" for a switch.

    Also of values that are stored as text, such as those of the audit trail.
    """
    field = _field(model, name)
    if isinstance(field, models.BooleanField) and str(value) in _YES_NO:
        return str(_YES_NO[str(value)])
    choices = getattr(field, "flatchoices", None) or ()
    labels = {str(choice): str(label) for choice, label in choices if choice not in (None, "")}
    return labels.get(str(value), value)


def state_word(policy: str) -> str:
    """Return the word for a tool's decided policy; for "follow", the word for its switch."""
    return str(_STATES.get(policy, policy))


def _field(model: type[models.Model] | None, name: str) -> Any:
    try:
        return None if model is None else model._meta.get_field(name)
    except FieldDoesNotExist:
        return None


LIMIT_GROUPS: tuple[tuple[str | Promise, tuple[str, ...]], ...] = (
    (_("All members together"), OF_TENANT),
    (_("Each member"), OF_MEMBER),
    (_("Each end user"), OF_END_USER),
    (_("Files attached to messages"), OF_ATTACHMENTS),
)
_WHOSE = {name: title for title, names in LIMIT_GROUPS[:3] for name in names}
_STATES = {"on": _("on"), "ask": _("asks first"), "off": _("off"), FOLLOW: _("no switch of its own")}
_YES_NO = {"True": _("yes"), "False": _("no")}
