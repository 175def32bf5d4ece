"""Two people save one form: what only one has changed is kept, what both have is asked about, and nothing is undone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Model
from django.forms import FileField, ModelForm
from django.test import Client
from django.urls import reverse

from assistant.admin import TenantScopedAdmin
from assistant.admin.base.merging import SHOWN, MergingAdmin, MergingForm, MergingInline
from assistant.contrib.branding.models import Brand
from assistant.contrib.insights.models import WarningSettings
from assistant.contrib.webhooks.models import Webhook
from assistant.models import ApiKey, Assistant, AuditEntry, Retention, Tenant, TenantLimits, ToolSetting
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.factories import switch_tool
from tests.isolation.planting import plant

ADMINS = {model: page for model, page in admin.site._registry.items() if isinstance(page, MergingAdmin)}


def forms_of(page: Any) -> list[Any]:
    """Return the forms that a page shows."""
    context = page.context
    if "adminform" not in context:
        return [context["form"]]
    inlines = [form for one in context["inline_admin_formsets"] for form in one.formset.forms]
    return [context["adminform"].form, *inlines]


class Inputs(HTMLParser):
    """Collects what a browser sends of the forms with posts of a page, by name."""

    def __init__(self, page: Any) -> None:
        super().__init__()
        self.found: dict[str, Any] = {}
        self._name = self._text = ""
        self._is_posted = False
        self._is_many = False
        self.feed(page.content.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = dict(attrs)
        if tag == "form":
            self._is_posted = about.get("method") == "post" and "action" not in about
        name = about.get("name")
        if tag == "option" and self._name and "selected" in about:
            self._choose(about.get("value") or "")
        if not self._is_posted or not name or "disabled" in about or "__prefix__" in name:
            return
        if tag in ("textarea", "select"):
            self._name, self._text, self._is_many = name, "", "multiple" in about
        elif tag == "input" and about.get("type") in ("checkbox", "radio"):
            if "checked" in about:
                self.found.setdefault(name, []).append(about.get("value") or "on")
        elif tag == "input" and about.get("type") not in ("submit", "file", "button"):
            self.found[name] = about.get("value") or ""

    def _choose(self, value: str) -> None:
        self.found[self._name] = [*self.found.get(self._name, []), value] if self._is_many else value

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._name:
            self.found[self._name] = self._text.removeprefix("\n")
        if tag in ("textarea", "select"):
            self._name = ""


def sent_by(page: Any, **changes: Any) -> dict[str, Any]:
    """Return what a browser sends that shows a page, after `changes` by field."""
    return Inputs(page).found | changes


@pytest.fixture
def others(cast: Cast) -> Client:
    """A browser in which another operator is signed in."""
    return signed_in(User.objects.create_superuser("olivia"))


def change_page(row: Model) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def test_fields_that_only_one_has_changed_keep_the_first_persons_value(
    root: Client, others: Client, cast: Cast
) -> None:
    address = change_page(cast.support)
    first, second = root.get(address), others.get(address)
    assert root.post(address, sent_by(first, name="Help desk")).status_code == 302
    saved = others.post(address, sent_by(second, model="large"), follow=True)
    cast.support.refresh_from_db()
    assert (cast.support.name, cast.support.model) == ("Help desk", "large")
    assert "Somebody else has changed this meanwhile, and it is kept: Name." in saved.content.decode()


def test_a_field_that_both_have_changed_is_asked_about_with_names(root: Client, others: Client, cast: Cast) -> None:
    address = change_page(cast.support)
    second = others.get(address)
    root.post(address, sent_by(root.get(address), name="Help <b>desk</b>"))
    asked = others.post(address, sent_by(second, name="Support line"))
    page = asked.content.decode()
    assert asked.status_code == 200
    assert "Changed meanwhile to “Help &lt;b&gt;desk&lt;/b&gt;” (root saved last" in page
    assert 'value="Support line"' in page
    cast.support.refresh_from_db()
    assert cast.support.name == "Help <b>desk</b>"
    assert others.post(address, sent_by(asked)).status_code == 302
    cast.support.refresh_from_db()
    assert cast.support.name == "Support line"


def test_a_form_that_changes_nothing_undoes_nothing_and_is_not_audited_as_a_change(
    root: Client, others: Client, cast: Cast
) -> None:
    address = change_page(cast.support)
    second = others.get(address)
    root.post(address, sent_by(root.get(address), name="Help desk"))
    others.post(address, sent_by(second))
    cast.support.refresh_from_db()
    assert cast.support.name == "Help desk"
    assert "values" not in AuditEntry.objects.filter(action="assistant.change").latest("pk").details


def test_rows_of_inlines_are_merged_too(root: Client, others: Client, cast: Cast) -> None:
    switch = switch_tool(cast.acme, "current_time", "on", assistant=cast.support)
    address = change_page(cast.support)
    second = others.get(address)
    prefix = next(form.prefix for form in forms_of(second) if getattr(form, "instance", None) == switch)
    root.post(address, sent_by(root.get(address), **{f"{prefix}-policy": "off"}))
    others.post(address, sent_by(second, model="large"))
    assert ToolSetting.objects.get(pk=switch.pk).policy == "off"


def test_a_conflict_in_an_inline_names_who_saved_it(root: Client, others: Client, cast: Cast) -> None:
    Retention.objects.create(tenant=cast.acme, conversations=30)
    address = change_page(cast.acme)
    second = others.get(address)
    prefix = next(form.prefix for form in forms_of(second) if isinstance(form.instance, Retention))
    field = f"{prefix}-conversations"
    root.post(address, sent_by(root.get(address), **{field: "31"}))
    signed_in(cast.amy).post(address, sent_by(root.get(address), name="Acme and Sons"))
    asked = others.post(address, sent_by(second, **{field: "61"})).content.decode()
    assert "Changed meanwhile to “31” (root saved last" in asked


@pytest.mark.parametrize("of_assistant", [False, True])
def test_a_conflict_names_who_set_a_switch_on_the_board(
    root: Client, others: Client, cast: Cast, of_assistant: bool
) -> None:
    switch = switch_tool(cast.acme, "current_time", "on", assistant=cast.support if of_assistant else None)
    address = change_page(switch)
    root.post(address, sent_by(root.get(address), config='{"a": 1}'))
    second = others.get(address)
    owner = cast.support.pk if of_assistant else ""
    board = f"/admin/assistant/toolsetting/switchboard/{cast.acme.slug}/"
    signed_in(cast.amy).post(board, {"set": f"{cast.acme.pk}:{owner}:current_time:off"})
    asked = others.post(address, sent_by(second, policy="ask")).content.decode()
    assert "Changed meanwhile to “Off” (amy saved last" in asked


@pytest.mark.parametrize("where", ["/admin/assistant/tenant/{}/spend/", "/admin/spend/?tenant={}"])
def test_limits_are_merged(root: Client, others: Client, cast: Cast, where: str) -> None:
    TenantLimits.objects.create(tenant=cast.acme, tenant_messages_per_day=100, tenant_cost_per_month=Decimal(10))
    address = where.format(cast.acme.pk)
    second = others.get(address)
    root.post(address, sent_by(root.get(address), tenant_messages_per_day="200", warned_at="90"))
    others.post(address, sent_by(second, tenant_cost_per_month="20"))
    limits = TenantLimits.objects.get()
    assert (limits.tenant_messages_per_day, limits.tenant_cost_per_month) == (200, 20)
    assert WarningSettings.objects.get().percentages == [90]
    asked = others.post(address, sent_by(second, tenant_messages_per_day="300")).content.decode()
    assert "Changed meanwhile to “200” (olivia saved last" in asked


def test_a_brand_is_merged(root: Client, others: Client, cast: Cast) -> None:
    address = f"/admin/assistant/tenant/{cast.acme.pk}/brand/"
    second = others.get(address)
    root.post(address, sent_by(root.get(address), name="Acme & Sons"))
    others.post(address, sent_by(second, greeting="Good day"))
    brand = Brand.objects.get()
    assert (brand.name, brand.greeting) == ("Acme & Sons", "Good day")


def is_waited_for() -> bool:
    """Whether another connection waits for a lock; of SQLite, which has one writer, it is not known."""
    if connection.vendor == "sqlite":
        return True
    with connection.cursor() as cursor:
        # Not `pg_stat_activity`, of which a transaction sees one state only.
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        )
        return bool(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("where", ["/admin/assistant/tenant/{}/spend/", "/admin/spend/?tenant={}"])
def test_of_two_forms_at_the_same_moment_one_sees_the_others_change(
    root: Client, others: Client, cast: Cast, where: str
) -> None:
    address = where.format(cast.acme.pk)
    limits = TenantLimits.objects.create(tenant=cast.acme, tenant_messages_per_day=100)
    sent = sent_by(root.get(address), tenant_cost_per_month="20")
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            list(Tenant.objects.select_for_update(no_key=True).filter(pk=cast.acme.pk))
            posted = pool.submit(_post_and_close, root, address, sent)
            limits.tenant_messages_per_day = 200
            limits.save()
            while not is_waited_for():
                time.sleep(0.01)
        assert posted.result(30) == 302
    limits.refresh_from_db()
    assert (limits.tenant_messages_per_day, limits.tenant_cost_per_month) == (200, 20)


def _post_and_close(client: Client, address: str, sent: dict[str, Any]) -> int:
    try:
        return client.post(address, sent).status_code
    finally:
        connection.close()


def test_a_limit_that_is_refused_is_not_shown_as_in_force(root: Client, cast: Cast) -> None:
    TenantLimits.objects.create(tenant=cast.acme, tenant_cost_per_month=Decimal(10))
    for address in (f"/admin/assistant/tenant/{cast.acme.pk}/spend/", f"/admin/spend/?tenant={cast.acme.pk}"):
        page = root.post(address, sent_by(root.get(address), tenant_cost_per_month="-5"))
        assert page.context["cost"].limit == "USD 10.00"
        assert page.context["form"].errors


def test_a_name_that_is_refused_is_not_the_pages_title(root: Client, cast: Cast) -> None:
    address = change_page(cast.support)
    page = root.post(address, sent_by(root.get(address), name="Renamed", slug="no slug!"))
    assert page.context["adminform"].form.errors
    assert page.context["title"] == "Support"
    assert 'value="Renamed"' in page.content.decode()


def test_every_page_merges_and_none_edits_in_its_list() -> None:
    for page in admin.site._registry.values():
        if page.model._meta.app_label not in {"assistant", "auth"}:
            continue
        assert isinstance(page, MergingAdmin), page
        assert not page.list_editable, page
        for inline in page.inlines:
            is_read_only = set(inline.fields or ()) == set(inline.readonly_fields)
            assert is_read_only or issubclass(inline, MergingInline), inline


def test_a_projects_own_form_merges_too(rf: Any, cast: Cast) -> None:
    class Plain(ModelForm[Assistant]):
        def clean_name(self) -> str:
            return str(self.cleaned_data["name"]).strip().capitalize()

    class Page(TenantScopedAdmin):
        form = Plain
        fields = ("name",)

    request = rf.get("/")
    request.user = cast.root
    page = Page(Assistant, admin.site)
    form = page.get_form(request, cast.support, change=True, fields=["name", SHOWN])
    assert issubclass(form, MergingForm) and issubclass(form, Plain)
    assert page.get_fieldsets(request, cast.support) == [(None, {"fields": ("name", SHOWN)})]


def in_seconds(values: dict[str, Any]) -> dict[str, Any]:
    """Return values without parts of seconds, which forms do not show."""
    return {name: one.replace(microsecond=0) if isinstance(one, datetime) else one for name, one in values.items()}


def rows_with_a_form(cast: Cast, root: Client) -> Iterator[tuple[Model, Any]]:
    rows = [*plant(cast).values(), cast.acme, cast.support, cast.alice]
    for row in rows:
        if type(row) not in ADMINS:
            continue
        page = root.get(change_page(row))
        if page.status_code == 200 and "adminform" in page.context and 'name="_save"' in page.content.decode():
            yield row, page


def test_every_change_page_says_what_it_shows_and_takes_it_back_unchanged(root: Client, cast: Cast) -> None:
    seen = []
    for row, page in rows_with_a_form(cast, root):
        names = {field.name for field in row._meta.concrete_fields} & set(page.context["adminform"].form.fields)
        rows = type(row)._default_manager.filter(pk=row.pk).values(*names)
        before = in_seconds(rows.get())
        assert f'name="{SHOWN}"' in page.content.decode(), row
        answer = root.post(change_page(row), sent_by(page))
        if answer.status_code == 302:
            assert in_seconds(rows.all().get()) == before, row
            seen.append(type(row))
    assert {Tenant, Assistant, User, ApiKey, Webhook} <= set(seen)


def test_no_page_shows_a_refused_value_as_in_force(root: Client, cast: Cast) -> None:
    refused = []
    for row, page in rows_with_a_form(cast, root):
        form = page.context["adminform"].form
        for bound in form:
            if bound.field.disabled or bound.name == SHOWN or isinstance(bound.field, FileField):
                continue
            answer = root.post(change_page(row), sent_by(page, **{bound.html_name: "\0no such value" * 400}))
            if answer.status_code != 200 or not answer.context["adminform"].form.errors:
                continue
            shown = answer.context["original"]
            stored = type(row)._default_manager.get(pk=row.pk)
            for field in row._meta.concrete_fields:
                assert shown.__dict__.get(field.attname, None) in (None, getattr(stored, field.attname)), (row, field)
            refused.append((type(row), bound.name))
    assert len({model for model, _ in refused}) >= 8
