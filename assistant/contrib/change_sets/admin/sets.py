"""The pages of change sets: the list, the form of a draft, and the page of a set with what it does and to whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.forms import Select
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.csrf import csrf_protect

from assistant.admin.base.links import base_template
from assistant.admin.base.merging import MergingForm
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.admin.base.visible_tenants import is_list, is_operator, picked_tenant_id
from assistant.contrib.change_sets.admin.item_forms import item_forms
from assistant.contrib.change_sets.admin.who_is_affected import (
    affected_of,
    applied_of,
    differences_of,
    figures_of,
)
from assistant.contrib.change_sets.admin.words import audience_of, sentence_of
from assistant.contrib.change_sets.models import EVERYTHING, ChangeSet, TenantLabel
from assistant.contrib.change_sets.services.acts import (
    add_item,
    approve,
    remove_item,
    submit,
    take_back,
    widen,
    withdraw,
)
from assistant.contrib.change_sets.services.items import PROMPT, ChangeSetRefused, checked_item, read_items
from assistant.models import AuditEntry, PromptVersion

State = ChangeSet.State
MAX_LABELS = 500
# What a set that is made of a draft is given to at first, in per cent.
FIRST_SHARE = 10
LABELS = "admin:assistant_change_sets_tenantlabel_changelist"
LIST = "admin:assistant_change_sets_changeset_changelist"
PAGE = "admin:assistant_change_sets_changeset_change"


class ChangeSetForm(MergingForm):
    """Whom a set is given to, how much of it, from when and until when."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        found = TenantLabel.objects.order_by("label").values_list("label", flat=True).distinct()[:MAX_LABELS]
        labels = sorted(set(found) | ({self.instance.label} - {""}))
        field: Any = self.fields["label"]
        field.widget = Select(choices=[("", "—"), *((label, label) for label in labels)])
        field.help_text = format_html(
            '{} <a href="{}">{}</a>', field.help_text, reverse(LABELS), gettext("Labels of tenants")
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        whom = cleaned.get("whom")
        if whom == ChangeSet.Whom.TENANT and cleaned.get("tenant") is None and "tenant" not in self.errors:
            self.add_error("tenant", gettext("Choose the tenant."))
        if whom == ChangeSet.Whom.LABEL and not cleaned.get("label") and "label" not in self.errors:
            self.add_error("label", gettext("Choose the label. Tenants get theirs in the list of labels."))
        # What does not count is not kept, so that no page and no policy of rows takes it for the set's tenant.
        if whom != ChangeSet.Whom.TENANT:
            cleaned["tenant"] = None
        if whom != ChangeSet.Whom.LABEL:
            cleaned["label"] = ""
        starts_at = cleaned.get("starts_at")
        ends_at = cleaned.get("ends_at")
        if starts_at is not None and ends_at is not None and ends_at <= starts_at:
            self.add_error("ends_at", gettext("It ends after it has begun."))
        return cleaned


def asked_version(request: HttpRequest) -> PromptVersion | None:
    """Return the prompt version that a new set is made of; None if the address names none. Operators alone ask."""
    asked = request.GET.get("version", "")
    if not (asked.isascii() and asked.isdigit() and len(asked) < 19):
        return None
    return PromptVersion.objects.select_related("assistant").filter(pk=asked).first()


class ChangeSetAdmin(TenantScopedAdmin):
    """Change sets, for operators only: a set may reach every tenant."""

    form = ChangeSetForm  # type: ignore[assignment]  # its rows may have no tenant
    tenant_admins_may = frozenset()
    list_display = ("name", "given_to", "share", "state_word", "starts_at", "ends_at", "created_by")
    list_display_links = ("name",)
    list_filter = ("state", "whom")
    search_fields = ("name", "reason")
    list_select_related = ("tenant", "created_by")
    fieldsets = (
        (None, {"fields": ("name", "reason", "whom", "tenant", "label", "percent", "starts_at", "ends_at")}),
        (gettext_lazy("Taken back by itself"), {"fields": ("watched_answers", "watched_points")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[ChangeSet]:
        """With a tenant picked, the sets of that tenant and those that are given to several."""
        picked = picked_tenant_id(request) if is_list(request) else None
        if picked is None or not is_operator(request):
            return super().get_queryset(request)
        return ChangeSet.objects.filter(Q(tenant=None) | Q(tenant=picked))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A set that has begun is part of the history."""
        return super().has_delete_permission(request, obj) and (obj is None or obj.state == State.DRAFT)

    def reasons_to_keep(self, rows: list[Any]) -> list[Any]:
        return [gettext("%(name)s has begun.") % {"name": row} for row in rows if row.state != State.DRAFT]

    @admin.display(description=gettext_lazy("given to"))
    def given_to(self, row: ChangeSet) -> str:
        return audience_of(row)

    @admin.display(description=gettext_lazy("share"), ordering="percent")
    def share(self, row: ChangeSet) -> str:
        return f"{row.percent} %"

    @admin.display(description=gettext_lazy("state"), ordering="state")
    def state_word(self, row: ChangeSet) -> str:
        return row.get_state_display()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Begin with the draft that `?version=` names: its tenant, its reason, and a small share."""
        found = super().get_changeform_initial_data(request)
        version = asked_version(request)
        if version is None:
            return found
        named = {"name": str(version), "reason": version.note, "tenant": version.assistant.tenant_id}
        return found | named | {"whom": ChangeSet.Whom.TENANT, "percent": FIRST_SHARE}

    def save_model(self, request: HttpRequest, obj: ChangeSet, form: Any, change: bool) -> None:
        if not change:
            obj.created_by_id = request.user.pk
        super().save_model(request, obj, form, change)
        version = None if change else asked_version(request)
        if version is not None:
            item = {"kind": PROMPT, "assistant": version.assistant.slug, "name": "", "value": version.text}
            add_item(change_set=obj, item=checked_item(item), actor=request.user)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Offer one button: the page of the set is next."""
        one_button = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().changeform_view(request, object_id, form_url, {**one_button, **(extra_context or {})})

    def response_add(self, request: HttpRequest, obj: ChangeSet, post_url_continue: str | None = None) -> HttpResponse:
        """Go on with the changes of the set."""
        return HttpResponseRedirect(reverse(PAGE, args=[obj.pk]))

    def response_change(self, request: HttpRequest, obj: ChangeSet) -> HttpResponse:
        return HttpResponseRedirect(reverse(PAGE, args=[obj.pk]))

    @method_decorator(csrf_protect)
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a set, and do what its buttons say; `?details` is the form of a draft."""
        row = self.row_or_404(request, object_id, self.has_view_permission)
        if "details" in request.GET:
            if row.state != State.DRAFT:
                raise Http404("Only a draft is edited.")
            return super().change_view(request, object_id, form_url, extra_context)
        if request.method == "POST" and self._done(request, row):
            return HttpResponseRedirect(reverse(PAGE, args=[row.pk]))
        row.refresh_from_db()
        return TemplateResponse(request, "admin/assistant/change_sets/set.html", self._context(request, row))

    def _done(self, request: HttpRequest, row: ChangeSet) -> bool:
        """Do what a button says; return False where it was refused, with a message."""
        act = _ACTS.get(request.POST.get("do", ""))
        if act is None:
            raise Http404("There is no such act.")
        try:
            level, sentence = act(request, row)
        except ChangeSetRefused as exc:
            self.message_user(request, gettext("Nothing was changed: %(why)s") % {"why": exc}, messages.ERROR)
            return False
        if sentence:
            self.message_user(request, sentence, level)
        return True

    def _context(self, request: HttpRequest, row: ChangeSet) -> dict[str, Any]:
        items = read_items(row)
        is_draft = row.state == State.DRAFT
        forms = item_forms(request, row) if is_draft else None
        has_begun = row.state in (State.ON, State.ENDED)
        differences = {} if has_begun else differences_of(row, items)
        return self.admin_site.each_context(request) | {
            "title": row.name,
            "base": base_template(),
            "opts": self.opts,
            "row": row,
            "ended_by": _ended_by(row) if row.state == State.ENDED else None,
            "audience": audience_of(row),
            "is_draft": is_draft,
            "items": [(place, item, sentence_of(item), differences.get(place)) for place, item in enumerate(items)],
            "forms": forms,
            "affected": None if has_begun else affected_of(row, items),
            "applied": applied_of(row) if has_begun else None,
            "figures": figures_of(row) if has_begun else None,
            "wider": [one for one in (5, 10, 25, 50, EVERYTHING) if one > row.percent],
            "is_mine": request.user.pk in (row.submitted_by_id, row.created_by_id),
            "by_two": settings.ASSISTANT_CHANGE_SETS_BY_TWO,
            "list_url": reverse(LIST),
        }


def _ended_by(row: ChangeSet) -> str | None:
    """Return who has taken a set back, as the audit says: "" if it ended by itself, None if the entry is not kept."""
    entries = AuditEntry.objects.filter(tenant=row.tenant, action="changeset.take_back", details__change_set=row.pk)
    entry = entries.select_related("actor").order_by("-pk").first()
    if entry is None:
        return None
    return "" if entry.actor is None else entry.actor.get_username()


Told = tuple[int, str]


def _add(request: HttpRequest, row: ChangeSet) -> Told:
    item = checked_item({name: request.POST.get(name, "") for name in ("kind", "assistant", "name", "value")})
    add_item(change_set=row, item=item, actor=request.user)
    return messages.SUCCESS, gettext("Added. Nothing has changed yet.")


def _remove(request: HttpRequest, row: ChangeSet) -> Told:
    place = request.POST.get("place", "")
    number = int(place) if place.isascii() and place.isdigit() and len(place) < 4 else -1
    remove_item(change_set=row, place=number, actor=request.user)
    return messages.SUCCESS, ""


def _submit(request: HttpRequest, row: ChangeSet) -> Told:
    return _told_state(submit(change_set=row, actor=request.user))


def _approve(request: HttpRequest, row: ChangeSet) -> Told:
    return _told_state(approve(change_set=row, actor=request.user))


def _withdraw(request: HttpRequest, row: ChangeSet) -> Told:
    withdraw(change_set=row, actor=request.user)
    return messages.SUCCESS, gettext("It is a draft again.")


def _widen(request: HttpRequest, row: ChangeSet) -> Told:
    percent = request.POST.get("percent", "")
    number = int(percent) if percent.isascii() and percent.isdigit() and len(percent) < 4 else 0
    found = widen(change_set=row, percent=number, actor=request.user)
    return messages.SUCCESS, gettext("%(percent)d %% of the conversations have it now.") % {"percent": found.percent}


def _take_back(request: HttpRequest, row: ChangeSet) -> Told:
    done = take_back(change_set=row, actor=request.user)
    count = len(done.restored)
    sentence = ngettext("%(count)d change is as before.", "%(count)d changes are as before.", count) % {"count": count}
    if not done.left:
        return messages.SUCCESS, sentence
    names = ", ".join(sorted({f"{one.tenant.name}: {one}" for one in done.left})[:10])
    left = gettext("Left, because somebody has changed it since: %(names)s.") % {"names": names}
    return messages.WARNING, f"{sentence} {left}"


def _told_state(row: ChangeSet) -> Told:
    if row.state == State.WAITING:
        return messages.SUCCESS, gettext("It waits for somebody else's approval.")
    if row.state == State.PLANNED:
        return messages.SUCCESS, gettext("It begins by itself at its moment.")
    return messages.SUCCESS, gettext("It is on, from the next message on.")


_ACTS: dict[str, Callable[[HttpRequest, ChangeSet], Told]] = {
    "add": _add,
    "remove": _remove,
    "submit": _submit,
    "approve": _approve,
    "withdraw": _withdraw,
    "widen": _widen,
    "take_back": _take_back,
}
