"""The values that a form changed, before and after, for the audit trail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext, override

from assistant import optional_apps
from assistant.admin.base.names import label_of, shown_value, state_word
from assistant.models import AuditEntry, Provider, Tenant

# Numbers, switches, choices and dates: never a secret, and never what a person wrote.
_SHOWN = (models.BooleanField, models.IntegerField, models.FloatField, models.DecimalField, models.DateField)
# Names of providers' models are shown although they are texts, because they determine costs.
_SHOWN_TEXTS = ("model", "default_model")
Values = dict[str, list[str | None]]


def changed_values(forms: Iterable[Any]) -> Values:
    """Return `{field: [before, after]}` of what was changed: numbers, switches, choices, dates, providers, models.

    Args:
        forms: the valid model form of a page and those of its inlines, whose names come first where there are several.
    """
    found: Values = {}
    for form in forms:
        for name in form.changed_data:
            field = _field(form._meta.model, name)
            if field is not None:
                before = form.initial.get(name)
                if isinstance(field, models.ForeignKey):
                    before = _provider(form.instance, before)
                pair = [_shown(value) for value in (before, getattr(form.instance, name))]
                if pair[0] != pair[1]:
                    found[name] = pair
    return found


def _provider(row: Any, pk: int | None) -> Provider | None:
    """Return the provider that a row had, of its tenant or of the deployment."""
    tenant_id = row.pk if isinstance(row, Tenant) else row.tenant_id
    rows = Provider.objects.only("name").filter(Q(tenant=tenant_id) | Q(tenant=None))
    return rows.filter(pk=pk or 0).first()


def _sentence_of(values: Mapping[str, Any], model: type[models.Model] | None) -> str:
    """Return changed values as text: "All members together: cost a month: 10.00 → 20.00"."""
    pairs = ((name, pair) for name, pair in values.items() if isinstance(pair, list) and len(pair) == 2)
    return "; ".join(
        f"{label_of(model, name)}: {_word(shown_value(model, name, before))} → {_word(shown_value(model, name, after))}"
        for name, (before, after) in pairs
    )


def sentence_of_entry(entry: AuditEntry) -> str:
    """Return the values that an audit entry says were changed, before and after; for a switch, its policy.

    Of texts and settings, whose values no entry has, it returns the names.
    """
    details = entry.details if isinstance(entry.details, dict) else {}
    if "before" in details and "policy" in details:
        steps = " → ".join(state_word(str(details[name])) for name in ("before", "policy"))
        return f"{steps} ({details['reason']})" if details.get("reason") else steps
    values = details.get("values")
    values = values if isinstance(values, dict) else {}
    model = _model(entry.action.partition(".")[0])
    names = _names_by_label(model)
    changed = (names.get(_plain(name), name) for name in _changed_names(details.get("changes")))
    others = dict.fromkeys(name for name in changed if name not in values)
    sentences = [_sentence_of(values, model)] if values else []
    if others:
        labels = ", ".join(label_of(model, name) for name in others)
        sentences.append(gettext("changed: %(names)s") % {"names": labels})
    return "; ".join(sentences)


def _model(action: str) -> type[models.Model] | None:
    """Return the model that the first word of an action names."""
    return optional_apps.own_model("tenantlimits" if action == "limits" else action)


def _names_by_label(model: type[models.Model] | None) -> dict[str, str]:
    """Return the names of a model's fields by what Django's messages about a change call them."""
    fields = model._meta.concrete_fields if model else ()
    # Django writes these messages untranslated.
    with override(None):
        return {_plain(text): field.name for field in fields for text in (field.name, str(field.verbose_name))}


def _plain(name: str) -> str:
    return name.replace("_", " ").lower()


def _changed_names(changes: object) -> Iterator[str]:
    """Yield the names in the list of an entry: names, or the parts of a message of Django's about a change."""
    for change in changes if isinstance(changes, list) else ():
        if isinstance(change, str):
            yield change
        elif isinstance(change, dict) and isinstance(changed := change.get("changed"), dict):
            fields = changed.get("fields")
            yield from (name for name in (fields if isinstance(fields, list) else ()) if isinstance(name, str))


def _field(model: type[models.Model], name: str) -> models.Field[Any, Any] | None:
    field = next((one for one in model._meta.concrete_fields if one.name == name), None)
    if field is None:
        return None
    is_shown = isinstance(field, _SHOWN) or field.choices or field.related_model is Provider or name in _SHOWN_TEXTS
    return field if is_shown else None


def _shown(value: object) -> str | None:
    return None if value in (None, "") else str(value)


def _word(value: object) -> str:
    return "—" if value is None else str(value)
