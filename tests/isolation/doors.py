"""Every address of the site, read from its URL configuration, with another tenant's ids put in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.forms import inlineformset_factory
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern
from django.utils.regex_helper import normalize

from assistant.models import Assistant, Message, Run, Tenant, ToolCall
from tests.isolation.planting import APPS, CANARY, CANARY_HEAD

# The files of the API compatible with OpenAI are attachments; those of REST are what tools have made.
_OPENAI = re.compile(r"(?<!/api)/v1/")

Rows = Mapping[type[models.Model], Any]


@dataclass(frozen=True)
class Address:
    """A path with its parameters as `%(name)s`; `name` is its name for `reverse`."""

    path: str
    parameters: tuple[str, ...]
    name: str


def _as_format(pattern: Any) -> tuple[str, list[str]]:
    if isinstance(pattern, RoutePattern):
        route = str(pattern)
        names = re.findall(r"<(?:\w+:)?(\w+)>", route)
        return re.sub(r"<(?:\w+:)?(\w+)>", r"%(\1)s", route.replace("%", "%%")), names
    return normalize(pattern.regex.pattern)[0]


def addresses(resolver: URLResolver | None = None, prefix: str = "/", names: tuple[str, ...] = ()) -> Iterator[Address]:
    """Return all addresses below a resolver, by default the site's root."""
    for entry in (resolver or get_resolver()).url_patterns:
        path, parameters = _as_format(entry.pattern)
        inner = (*names, *parameters)
        if isinstance(entry, URLResolver):
            yield from addresses(entry, prefix + path, inner)
        elif isinstance(entry, URLPattern):
            yield Address(prefix + path, inner, entry.name or "")


def _admin_model(name: str) -> type[models.Model] | None:
    for model in admin.site._registry:
        if name.startswith(f"{model._meta.app_label}_{model._meta.model_name}_") or name.endswith(
            f"_{model._meta.model_name}"
        ):
            return model
    return None


def _values(parameter: str, address: Address, rows: Rows) -> list[str]:
    """Return the values with which another tenant's member might fill a parameter."""
    by_model = {model._meta.model_name: str(row.pk) for model, row in rows.items()}
    tenant = rows[Tenant].slug
    known = {
        "tenant": tenant,
        "tenant_slug": tenant,
        "assistant": by_model["assistant"] if "/admin/" in address.path else rows[Assistant].slug,
        "thread": by_model["conversation"],
        "thread_id": by_model["conversation"],
        "run_id": rows[Run].run_id,
        "message_id": rows[Message].message_id,
        "call": by_model["toolcall"],
        "call_id": rows[ToolCall].call_id,
        "number": "1",
        "schedule": by_model.get("schedule", "1"),
        "session": by_model.get("browsersession", "1"),
        "label": by_model.get("questionlabel", "1"),
        "file": by_model["attachment" if _OPENAI.search(address.path) else "toolfile"],
        "response": f"resp_{by_model['conversation'].replace('-', '')}",
        "image": by_model.get("brandimage", "1"),
        "colour": "8a3a8f",
        "share": by_model.get("conversationshare", "1"),
        "server": by_model.get("mcpserver", "1"),
        "uidb64": "nowhere",
        "token": "nowhere",
        "url": "nowhere",
        "model": rows[Assistant].slug,
        "slug": "nowhere",
        "name": "nowhere.png",
        "path": "nowhere",
        "address": "nowhere",
    }
    if parameter == "app_label":
        return [*APPS, "auth"]
    if parameter in {"object_id", "pk", "id"}:
        model = _admin_model(address.name)
        return [str(rows[model].pk)] if model in rows else sorted(set(by_model.values()))
    if parameter in known:
        return [known[parameter]]
    name = parameter.removesuffix("_id").removesuffix("_pk").replace("_", "")
    assert name in by_model, f"tell tests/isolation/doors.py what {parameter!r} of {address.path} stands for"
    return [by_model[name]]


def paths(rows: Rows) -> list[str]:
    """Return every address with the ids of `rows`."""
    found: list[str] = []
    for address in addresses():
        if "content_type_id" in address.parameters:
            kinds = {ContentType.objects.get_for_model(model).pk: row.pk for model, row in rows.items()}
            found += [address.path % {"content_type_id": kind, "object_id": pk} for kind, pk in kinds.items()]
            continue
        filled = [{}]
        for parameter in address.parameters:
            filled = [{**one, parameter: value} for one in filled for value in _values(parameter, address, rows)]
        found += [address.path % one for one in filled]
    # After signing out, the remaining tries would be anonymous.
    return sorted(dict.fromkeys(found), key=lambda path: "logout" in path)


def queries(path: str, rows: Rows) -> list[str]:
    """Return query strings that ask for another tenant's rows, in the formats of lists and of choices."""
    tenant = rows[Tenant]
    if path == "/admin/autocomplete/":
        return [
            f"?app_label={model._meta.app_label}&model_name={model._meta.model_name}&field_name={name}&term={CANARY_HEAD}"
            for model, model_admin in admin.site._registry.items()
            for name in model_admin.autocomplete_fields
        ]
    asked = ["", f"?q={CANARY_HEAD}"]
    if path.startswith("/admin/"):
        is_list = re.fullmatch(r"/admin/\w+/\w+/", path)
        return [*asked, f"?tenant__id__exact={tenant.pk}", f"?tenant={tenant.pk}"] if is_list else [""]
    return [*asked, f"?tenant={tenant.slug}"]


def _in_own_words(value: Any) -> Any:
    """Replace canaries in form values, because a form repeats what was sent with it."""
    text = json.dumps(value) if isinstance(value, dict | list) else value
    return text.replace(CANARY, "taken") if isinstance(text, str) else text


def admin_forms(rows: Rows) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return forms of the admin that would create or change rows of another tenant, or refer to them."""
    for model, model_admin in admin.site._registry.items():
        if model not in rows:
            continue
        meta = model._meta
        base = f"/admin/{meta.app_label}/{meta.model_name}/"
        fields = {
            field.name: _in_own_words(field.value_from_object(rows[model]))
            for field in meta.concrete_fields
            if not field.primary_key and field.value_from_object(rows[model]) is not None
        }
        prefixes = [
            inlineformset_factory(model, inline.model, fk_name=inline.fk_name, fields=()).get_default_prefix()
            for inline in model_admin.inlines
        ]
        counts = {f"{prefix}-{part}_FORMS": 0 for prefix in prefixes for part in ("TOTAL", "INITIAL")}
        yield f"{base}add/", {**fields, **counts}
        yield f"{base}{rows[model].pk}/change/", {**fields, **counts}
        yield f"{base}{rows[model].pk}/delete/", {"post": "yes"}
        for action in ("delete_selected", *(getattr(name, "__name__", name) for name in model_admin.actions or ())):
            yield base, {"action": action, "_selected_action": rows[model].pk, "post": "yes"}
