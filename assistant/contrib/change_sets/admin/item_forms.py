"""The forms with which a change is added to a set: one for each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Count, OuterRef, Subquery
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.names import label_of, state_word
from assistant.contrib.change_sets.models import ChangeSet
from assistant.contrib.change_sets.services.audience import MAX_TENANTS, tenants_of_set
from assistant.contrib.change_sets.services.items import (
    LIMIT,
    LIMITS,
    MAX_TEXT,
    PROMPT,
    SETTING,
    SETTINGS,
    SWITCH,
    model_of,
)
from assistant.models import Assistant, PromptVersion
from assistant.models.tool_settings import FOLLOW
from assistant.services.toolpolicy import catalogue, outside_tools
from assistant.services.toolpolicy.switch_changes import POLICIES

Choices = Sequence[tuple[str, str]]
# Assistants, and tools of external servers, that a form offers, those of most tenants first.
MAX_ASSISTANTS = 200
MAX_OUTSIDE = 100
# Assistants whose prompts a form begins with.
MAX_PROMPTS = 20


class ItemForm(forms.Form):
    """A change of one kind; what it says is checked by `checked_item`.

    Attributes:
        title: what the page calls the kind.
    """

    kind = ""
    title: Any = ""

    def __init__(self, data: Any, *, assistants: Choices, tools: Choices, prompts: Mapping[str, str]) -> None:
        super().__init__(data, auto_id=f"id_{self.kind}_%s", label_suffix="")
        fields: dict[str, Any] = self.fields
        if "assistant" in fields:
            first = [("", gettext("the whole tenant"))] if self.kind == SWITCH else []
            fields["assistant"].choices = [*first, *assistants]
        if self.kind == PROMPT and assistants:
            fields["value"].initial = prompts.get(assistants[0][0], "")
        if self.kind == SWITCH:
            fields["name"].choices = tools
            words = [(policy, capfirst(state_word(policy))) for policy in POLICIES]
            fields["value"].choices = [*words, (FOLLOW, gettext("Follows the rest"))]
        if self.kind in (SETTING, LIMIT):
            names = SETTINGS if self.kind == SETTING else LIMITS
            fields["name"].choices = [(name, capfirst(label_of(model_of(self.kind), name))) for name in names]


class PromptForm(ItemForm):
    kind = PROMPT
    title = _("Prompt")
    assistant = forms.ChoiceField(label=_("Assistant"))
    value = forms.CharField(
        label=_("Text of the new version"),
        max_length=MAX_TEXT,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "dir": "auto"}),
    )


class SwitchForm(ItemForm):
    kind = SWITCH
    title = _("Switch of a tool")
    name = forms.ChoiceField(label=_("Tool"))
    assistant = forms.ChoiceField(label=_("For"), required=False)
    value = forms.ChoiceField(label=_("Becomes"))


class SettingForm(ItemForm):
    kind = SETTING
    title = _("Model or limit of an assistant")
    assistant = forms.ChoiceField(label=_("Assistant"))
    name = forms.ChoiceField(label=_("Setting"))
    value = forms.CharField(label=_("Becomes"), max_length=200, required=False, help_text=_("Empty: its default."))


class LimitForm(ItemForm):
    kind = LIMIT
    title = _("Limit of a tenant")
    name = forms.ChoiceField(label=_("Limit"))
    value = forms.CharField(
        label=_("Becomes"), max_length=40, required=False, help_text=_("Empty: the deployment's. 0: no limit.")
    )


FORMS: tuple[type[ItemForm], ...] = (PromptForm, SwitchForm, SettingForm, LimitForm)


@dataclass(frozen=True, slots=True)
class ItemForms:
    """The form of each kind, and the prompts that hold now, by the slugs of their assistants."""

    forms: tuple[ItemForm, ...]
    prompts: Mapping[str, str]

    @property
    def is_sent(self) -> bool:
        """Whether one of them is filled with what was sent."""
        return any(form.is_bound for form in self.forms)


def item_forms(request: HttpRequest, change_set: ChangeSet) -> ItemForms:
    """Return the forms of a set; the one that was sent is filled with what was sent."""
    sent = request.POST.get("kind", "") if request.POST.get("do") == "add" else ""
    tenants = list(tenants_of_set(change_set).values_list("pk", flat=True)[:MAX_TENANTS])
    assistants = _assistants(tenants)
    prompts = prompts_of(tenants, [slug for slug, _label in assistants[:MAX_PROMPTS]])
    choices: dict[str, Any] = {"assistants": assistants, "tools": _tools(tenants), "prompts": prompts}
    forms = (form(request.POST if sent == form.kind else None, **choices) for form in FORMS)
    return ItemForms(tuple(forms), prompts)


def prompts_of(tenants: Sequence[int], slugs: Sequence[str]) -> dict[str, str]:
    """Return the published prompt of each assistant, of the oldest of the tenants that have one; one query."""
    rows = PromptVersion.objects.filter(
        assistant__tenant__in=tenants, assistant__slug__in=slugs, status=PromptVersion.Status.PUBLISHED
    )
    # Django's DISTINCT ON is PostgreSQL's alone.
    oldest = rows.filter(assistant__slug=OuterRef("assistant__slug")).order_by("assistant__tenant").values("pk")[:1]
    found = rows.filter(pk=Subquery(oldest)).order_by()
    return dict(found.values_list("assistant__slug", "text"))


def _assistants(tenants: Sequence[int]) -> Choices:
    """Return the assistants of the tenants by their slugs, with how many of the tenants have one."""
    rows = Assistant.objects.filter(tenant__in=tenants).order_by().values_list("slug")
    counted = rows.annotate(count=Count("tenant")).order_by("-count", "slug")[:MAX_ASSISTANTS]
    several = len(tenants) > 1
    of = gettext("%(slug)s (of %(count)d tenants)")
    return [(slug, of % {"slug": slug, "count": count} if several else slug) for slug, count in counted]


def _tools(tenants: Sequence[int]) -> Choices:
    outside = outside_tools.most_common(tenants=tenants, limit=MAX_OUTSIDE).tools
    names = [tool.name for tool in catalogue.registry()]
    return [(name, name) for name in [*names, *(tool.name for tool in outside if tool.name not in names)]]
