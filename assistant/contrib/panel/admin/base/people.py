"""The choice of a person of one tenant in a form: a short list, or a field that searches what is typed."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from assistant.admin.base.tenant_scope import choices_of
from assistant.admin.base.visible_tenants import picked_tenant_id
from assistant.models import Tenant

# More people are typed, with suggestions.
MAX_CHOICES = 30
# Suggestions, which the browser searches. Others are found by their whole user name.
MAX_SUGGESTED = 500


class SuggestedNames(forms.TextInput):
    """A text field with names that the browser suggests while one is typed."""

    names: tuple[str, ...] = ()

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(attrs={"autocomplete": "off", "size": 40})
        self.names = names

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        listed = f"{name}-names"
        field = super().render(name, value, {**(attrs or {}), "list": listed}, renderer)
        options = format_html_join("", '<option value="{}"></option>', ((one,) for one in self.names))
        return format_html('{}<datalist id="{}">{}</datalist>', field, listed, options)


def tenant_of_form(request: HttpRequest, permission: str) -> Tenant | None:
    """Return the tenant that a new row is for: the one that is sent or picked, or the user's only one."""
    allowed = choices_of(request, Tenant, permission)
    sent = request.POST.get("tenant") or request.GET.get("tenant") or str(picked_tenant_id(request) or "")
    if sent:
        is_id = sent.isascii() and sent.isdigit() and len(sent) < 19
        return allowed.filter(pk=int(sent)).first() if is_id else None
    some = list(allowed[:2])
    return some[0] if len(some) == 1 else None


def person_options(people: QuerySet[Any]) -> dict[str, Any]:
    """Return the options of the form's field for people of one tenant: two queries at most."""
    name = get_user_model().USERNAME_FIELD
    names = tuple(people.order_by(name).values_list(name, flat=True)[: MAX_SUGGESTED + 1])
    if len(names) <= MAX_CHOICES:
        return {"queryset": people.order_by(name)}
    return {"queryset": people, "to_field_name": name, "widget": SuggestedNames(names[:MAX_SUGGESTED])}
