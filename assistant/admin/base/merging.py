"""Forms that do not undo what others have saved meanwhile, and that leave their row as it was if they are invalid.

A form says in a hidden field what its fields held when it was shown, as digests. When it is sent, a field that its user
has not changed keeps what is stored by now. One that both have changed is an error that names who saved last, with both
values; sent again, the form has seen the other's change and replaces it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.http import HttpRequest
from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.functional import cached_property
from django.utils.text import Truncator
from django.utils.translation import gettext, gettext_lazy

from assistant.models import AuditEntry, Tenant

SHOWN = "shown_values"
# Digests of a form with many fields fit into this.
MAX_SHOWN = 20_000
# Of a value in a sentence about a conflict.
MAX_VALUE = 200


@dataclass(frozen=True, slots=True)
class LastSave:
    """Who saved a row last, and when."""

    who: str
    at: datetime


def last_entry(*, tenant: Tenant, actions: Collection[str], target: str = "") -> LastSave | None:
    """Return who did one of these actions of the audit trail last in a tenant, if given to a target; None if nobody."""
    entries = AuditEntry.objects.filter(tenant=tenant, action__in=actions).select_related("actor")
    if target:
        entries = entries.filter(target=target)
    entry = entries.order_by("-pk").first()
    return None if entry is None or entry.actor is None else LastSave(entry.actor.get_username(), entry.created_at)


def newest(*saves: LastSave | None) -> LastSave | None:
    """Return the newest of some saves; None if none is known."""
    return max((save for save in saves if save is not None), key=lambda save: save.at, default=None)


def _last_logged(row: models.Model, part: type[models.Model] | None = None) -> LastSave | None:
    """Return who saved a row last on its page of the admin, or rows of a model there that are inlines."""
    kind = ContentType.objects.get_for_model(row)
    entries = LogEntry.objects.filter(content_type=kind, object_id=str(row.pk)).select_related("user")
    if part is not None:
        with translation.override(None):  # as Django's `construct_change_message` names inlines
            entries = entries.filter(change_message__contains=f'"name": {json.dumps(str(part._meta.verbose_name))}')
    entry = entries.order_by("-action_time", "-pk").first()
    return None if entry is None else LastSave(entry.user.get_username(), entry.action_time)


class ShownField(forms.CharField):
    """The digests of what was shown, by field; it is no value of the row and never counts as changed."""

    widget = forms.HiddenInput

    def has_changed(self, initial: object, data: object) -> bool:
        return False

    def clean(self, value: object) -> str:
        """Accept anything: what is no digest is the same as none."""
        return str(value or "")[:MAX_SHOWN]


class MergingForm(forms.ModelForm[Any]):
    """The base of the admin's model forms.

    Attributes:
        parent_name: of an inline, the field with the row on whose page it is; else "".
        kept: labels of the fields that hold what somebody else has saved meanwhile, and the user has not changed.
    """

    shown_values = ShownField(label="", required=False)
    parent_name = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kept: list[str] = []
        self._conflicts: dict[str, str] = {}
        self._is_merged = False
        self._as_loaded: tuple[dict[str, Any], dict[str, Any]] | None = None
        self.fields[SHOWN].initial = self._digests_as_text

    def last_save(self) -> LastSave | None:
        """Return who saved the row last, as the admin's log says; None if that is not known."""
        if self.instance.pk is None:
            return None
        parent = getattr(self.instance, self.parent_name) if self.parent_name else None
        of_parent = None if parent is None else _last_logged(parent, type(self.instance))
        return newest(_last_logged(self.instance), of_parent)

    @cached_property
    def changed_data(self) -> list[str]:
        self._merge()
        changed: list[str] = super().changed_data
        return changed

    def full_clean(self) -> None:
        self._merge()
        self._as_loaded = dict(self.instance.__dict__), dict(self.instance._state.fields_cache)
        super().full_clean()
        for name, sentence in self._conflicts.items():
            self.add_error(name, sentence)
        if self.is_bound and self.errors:
            self.restore_row()

    def restore_row(self) -> None:
        """Give the row the values with which it was loaded, for pages that show it beside the refused form."""
        if self._as_loaded is not None:
            values, related = self._as_loaded
            self.instance.__dict__.update(values)
            self.instance._state.fields_cache = dict(related)

    def _mergeable(self) -> Iterable[tuple[str, forms.Field]]:
        for name, field in self.fields.items():
            if name != SHOWN and not field.disabled and not isinstance(field, forms.FileField):
                yield name, field

    def _digests_as_text(self) -> str:
        found = {
            name: _digest(field, _as_posted(field, self.get_initial_for_field(field, name)))
            for name, field in self._mergeable()
        }
        return json.dumps(found, separators=(",", ":"))

    def _merge(self) -> None:
        """Put what others have saved meanwhile into the data, except where the user has changed the same."""
        if self._is_merged or not self.is_bound:
            return
        self._is_merged = True
        shown_name = self.add_prefix(SHOWN)
        shown = _read_digests(self.data.get(shown_name))
        if not shown:
            return
        sent_data: Any = self.data
        data = sent_data.copy()
        for name, field in self._mergeable():
            stored = _as_posted(field, self.get_initial_for_field(field, name))
            is_stored_as_shown = shown.get(name) in (None, _digest(field, stored))
            sent = _digest(field, self[name].data)
            if is_stored_as_shown or sent == _digest(field, stored):
                continue
            if sent == shown[name]:
                _put(data, self[name], stored)
                self.kept.append(str(self[name].label))
            else:
                self._conflicts[name] = self._conflict(field, stored)
        # The next time the form is sent, the user has seen what is stored now.
        data[shown_name] = self._digests_as_text()
        self.data = data
        self.__dict__.pop("changed_data", None)

    def _conflict(self, field: forms.Field, stored: Any) -> str:
        last = self.last_save()
        values = {"value": _in_words(field, stored)}
        if last is None:
            text = gettext("Somebody has changed this meanwhile to “%(value)s”. Save again to replace it.")
            return text % values
        values |= {"who": last.who, "at": date_format(timezone.localtime(last.at), "SHORT_DATETIME_FORMAT")}
        text = gettext("Changed meanwhile to “%(value)s” (%(who)s saved last, %(at)s). Save again to replace it.")
        return text % values


def kept_sentence(forms_of_page: Iterable[Any]) -> str:
    """Return what the forms of a page have kept of others' changes, as a sentence; empty if nothing."""
    kept = [label for form in forms_of_page for label in getattr(form, "kept", ())]
    text = gettext_lazy("Somebody else has changed this meanwhile, and it is kept: %(fields)s.")
    return text % {"fields": ", ".join(dict.fromkeys(kept))} if kept else ""


class MergingAdmin:
    """Lets a `ModelAdmin`'s change page send what was shown, keep others' changes, and show the row as it is stored.

    A form that is no `MergingForm` becomes one.
    """

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        # A new row has nobody else's changes, and users have another form for it.
        if obj is not None:
            shown = self.get_readonly_fields(request, obj)  # type: ignore[attr-defined]
            kwargs["form"] = _merging(kwargs.get("form", self.form), shown)  # type: ignore[attr-defined]
        return super().get_form(request, obj, change=change, **kwargs)  # type: ignore[misc]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        found = super().get_fieldsets(request, obj)  # type: ignore[misc]
        may_change = obj is not None and self.has_change_permission(request, obj)  # type: ignore[attr-defined]
        return _with_shown(found) if may_change else found

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the row; for a form that was sent locked, so that of two simultaneous forms one sees the other's."""
        found = super().get_object(request, object_id, from_field)  # type: ignore[misc]
        if found is None or request.method != "POST" or not transaction.get_connection().in_atomic_block:
            return found
        # Without the model's order, whose joins PostgreSQL may not be able to lock.
        list(type(found)._base_manager.select_for_update().filter(pk=found.pk).order_by().values_list("pk"))
        return super().get_object(request, object_id, from_field)  # type: ignore[misc]

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        for form in _forms_of(context):
            if form.is_bound and isinstance(form, MergingForm):
                form.restore_row()
        return super().render_change_form(request, context, *args, **kwargs)  # type: ignore[misc]

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        sentence = kept_sentence([form, *(one for formset in formsets or () for one in formset.forms)])
        if sentence:
            self.message_user(request, sentence)  # type: ignore[attr-defined]
        return super().construct_change_message(request, form, formsets, add)  # type: ignore[misc]


class MergingInline:
    """The same for an inline."""

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        shown = self.get_readonly_fields(request, obj)  # type: ignore[attr-defined]
        kwargs["form"] = _merging(kwargs.get("form", self.form), shown)  # type: ignore[attr-defined]
        formset = super().get_formset(request, obj, **kwargs)  # type: ignore[misc]
        formset.form.parent_name = formset.fk.name
        return formset

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        found = super().get_fieldsets(request, obj)  # type: ignore[misc]
        return _with_shown(found) if self.has_change_permission(request, obj) else found  # type: ignore[attr-defined]


def _merging(form: Any, readonly: Iterable[str]) -> type[MergingForm]:
    """Return a form that merges, without the declared fields that the page only shows.

    Django leaves these out of a page's own form, but not of one that `get_form` is given.
    """
    bases = (form,) if issubclass(form, MergingForm) else (MergingForm, form)
    return type(form.__name__, bases, dict.fromkeys(name for name in readonly if name in form.declared_fields))


def _with_shown(fieldsets: Any) -> list[Any]:
    """Return fieldsets with the hidden field at the end of the first."""
    (title, options), *rest = fieldsets
    return [(title, {**options, "fields": (*options["fields"], SHOWN)}), *rest]


def _forms_of(context: Mapping[str, Any]) -> Iterable[Any]:
    yield context["adminform"].form
    for inline in context.get("inline_admin_formsets", ()):
        yield from inline.formset.forms


def _read_digests(text: object) -> dict[str, str]:
    try:
        found = json.loads(text[:MAX_SHOWN]) if isinstance(text, str) else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _as_posted(field: forms.Field, value: Any) -> Any:
    """Return a value as a browser sends it that shows it in the field and leaves it as it is."""
    widget = field.widget
    if isinstance(widget, forms.CheckboxInput):
        return bool(value)
    if isinstance(widget, forms.MultiWidget):
        parts = value if isinstance(value, list) else widget.decompress(value) or ()
        return [one.format_value(part) for one, part in zip(widget.widgets, parts, strict=False)]
    found = widget.format_value(field.prepare_value(value))
    is_single = isinstance(found, list) and not getattr(widget, "allow_multiple_selected", False)
    return (found[0] if found else None) if is_single else found


def _digest(field: forms.Field, posted: Any) -> str:
    """Return the same text for values that the field takes to be the same."""
    return hashlib.blake2b(repr(_plain(field, posted)).encode(), digest_size=9).hexdigest()


def _plain(field: forms.Field, posted: Any) -> object:
    if isinstance(field, forms.ModelChoiceField | forms.ChoiceField):
        is_list = isinstance(posted, list | tuple | set)
        return sorted(map(str, posted)) if is_list else str("" if posted is None else posted)
    try:
        value = field.clean(posted) if isinstance(field, forms.MultiValueField) else field.to_python(posted)
    except ValidationError:
        return posted
    if isinstance(value, str):
        return "\n".join(value.splitlines()).strip()
    if isinstance(value, Decimal):
        return str(value.normalize())
    if isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True, default=str)
    return "" if value is None else str(value)


def _put(data: Any, bound: forms.BoundField, stored: Any) -> None:
    """Write a value into the data of a form as a browser would send it."""
    name = bound.html_name
    widget = bound.field.widget
    if isinstance(widget, forms.MultiWidget):
        names: list[str] = widget.widgets_names  # type: ignore[attr-defined]
        for suffix, part in zip(names, stored, strict=False):
            data[f"{name}{suffix}"] = "" if part is None else part
    elif isinstance(widget, forms.CheckboxInput):
        data.pop(name, None)
        if stored:
            data[name] = widget.attrs.get("value", "on")
    elif isinstance(stored, list | tuple | set) and hasattr(data, "setlist"):
        data.setlist(name, [str(one) for one in stored])
    else:
        data[name] = "" if stored is None else stored


def _in_words(field: forms.Field, stored: Any) -> str:
    """Return a stored value for people."""
    found = stored if isinstance(stored, list | tuple) else [stored]
    words = [_label(field, one) for one in found if one not in (None, "")]
    return Truncator(", ".join(words)).chars(MAX_VALUE) or "—"


def _label(field: forms.Field, value: Any) -> str:
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(field, forms.ModelChoiceField):
        row: models.Model | None = field.queryset.filter(pk=value).first() if field.queryset is not None else None
        return str(value) if row is None else str(field.label_from_instance(row))
    if isinstance(field, forms.ChoiceField):
        return str(dict(_flat(field.choices)).get(str(value), value))
    return str(value)


def _flat(choices: Any) -> Iterable[tuple[str, Any]]:
    for value, label in choices:
        if isinstance(label, list | tuple):
            yield from _flat(label)
        else:
            yield str(value), label
