"""What the pages of the core show of the quality of answers: the page, a tab of tenants, links, and *Needs you*."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, timedelta
from typing import Any

from django.db.models import F, Sum
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from assistant.admin.base.own_addresses import reverse
from assistant.contrib.insights.admin import quality_page  # noqa: F401 - it registers
from assistant.contrib.insights.admin.quality_page import ASSISTANT_TAB, quality_context
from assistant.contrib.insights.admin.request import PERMISSION, read_request
from assistant.contrib.insights.admin.what_changed_page import TAB, tab_url
from assistant.contrib.insights.models import DaySum, QualityWarning, SpendNotice
from assistant.contrib.insights.services.measures import BY_SLUG, FAILED
from assistant.contrib.panel.admin.assistants.assistant_tabs import PROMPT, add_assistant_tab
from assistant.contrib.panel.admin.base.action_titles import name_actions
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.contrib.panel.admin.home.home import describe_need
from assistant.contrib.panel.admin.spend.spend_sections import add_spend_section
from assistant.contrib.panel.admin.tenants import tabs
from assistant.contrib.panel.admin.tenants.tabs import AddedTab, Tab, add_tab, page_of, tenant_of_tab
from assistant.contrib.panel.reports.months import Month
from assistant.contrib.panel.reports.needs import MAX_COUNTED, Item, look_for
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.models import Tenant

QUALITY = Tab("quality", gettext_lazy("Quality"), PERMISSION)
WORSE = "worse"
# A warning needs somebody for so long.
OPEN_FOR = timedelta(days=3)
FAILING = "failing"
# Of so many runs of two days at least, so many per cent failed.
FAILING_RUNS = 10
FAILING_PERCENT = 25


def failing_assistants(tenants: TenantFilter) -> list[Item]:
    """Return the assistants of whose runs of two days many failed, those with the largest part first; one query."""
    today = timezone.now().astimezone(UTC).date()
    rows = tenants.rows(
        DaySum.objects.filter(
            tool="", day__gte=today - timedelta(days=1), tenant__is_active=True, assistant__is_active=True
        )
    )
    sums = rows.order_by().values_list("assistant_id", "assistant__name", "tenant__name")
    many = sums.annotate(all_runs=Sum("runs"), all_failed=Sum("failed")).filter(
        all_runs__gte=FAILING_RUNS, all_failed__gte=F("all_runs") * FAILING_PERCENT / 100
    )
    failing = sorted(many, key=lambda row: -row[4] / row[3])[:MAX_COUNTED]
    text = _("%(assistant)s: %(failed)d of %(runs)d runs")
    return [
        Item(text % {"assistant": name, "failed": failed, "runs": runs}, tenant, pk)
        for pk, name, tenant, runs, failed in failing
    ]


def worse_assistants(tenants: TenantFilter) -> list[Item]:
    """Return the assistants whose answers have become worse in the last days; those that did most first.

    Failures are left out: they are a kind of their own.
    """
    rows = tenants.rows(
        QualityWarning.objects.filter(
            created_at__gte=timezone.now() - OPEN_FOR, tenant__is_active=True, assistant__is_active=True
        ).exclude(measure=FAILED.slug)
    )
    found = rows.order_by("-share").values_list("assistant__name", "measure", "share", "tenant__name", "assistant_id")
    return [
        Item(
            _("%(assistant)s: %(measure)s %(share)s %%")
            % {"assistant": name, "measure": str(BY_SLUG[measure].name).lower(), "share": round(share / 10)},
            tenant,
            assistant_id,
        )
        for name, measure, share, tenant, assistant_id in found[:MAX_COUNTED]
        if measure in BY_SLUG
    ]


def _told(tenant: Tenant, month: Month) -> SafeString | str:
    notices = list(SpendNotice.objects.filter(tenant=tenant, month=month.first).order_by("percent"))
    return render_to_string("admin/assistant/insights/told.html", {"told": notices}) if notices else ""


def _overview_link(tenant: Tenant) -> SafeString:
    return format_html('<a href="{}">{}</a>', reverse(QUALITY.url_name, args=[tenant.pk]), _("Quality of answers"))


def _tab_urls(page: Any) -> list[URLPattern]:
    view = page.admin_site.admin_view(_tab_view(page))
    return [path("<path:object_id>/quality/", view, name="assistant_tenant_quality")]


def _tab_view(page: Any) -> Callable[..., HttpResponse]:
    def view(request: HttpRequest, object_id: str) -> HttpResponse:
        tenant = tenant_of_tab(request, object_id, QUALITY)
        asked = read_request(request, now=timezone.now(), tenant=tenant)
        context = page_of(page.admin_site, request, tenant, QUALITY, **quality_context(asked))
        return TemplateResponse(request, "admin/assistant/insights/tab.html", context)

    return view


show_in_room("assistants", DaySum, after="assistant")
add_tab(AddedTab(QUALITY, tabs.OVERVIEW, _tab_urls, _overview_link))
add_spend_section(_told)
add_assistant_tab(ASSISTANT_TAB, after=PROMPT)
add_assistant_tab(TAB, after=ASSISTANT_TAB)
name_actions("release", gettext_lazy("release"))
look_for(FAILING, failing_assistants, after="limit-reached")
look_for(WORSE, worse_assistants, after="limit-reached")
describe_need(
    FAILING,
    sentence=lambda n: ngettext("%(n)s assistant fails", "%(n)s assistants fail", n),
    every="what_changed",
    page=tab_url,
    is_urgent=True,
    is_named=True,
)
describe_need(
    WORSE,
    sentence=lambda n: ngettext(
        "%(n)s assistant answers worse than in the weeks before",
        "%(n)s assistants answer worse than in the weeks before",
        n,
    ),
    every="what_changed",
    page=tab_url,
    is_urgent=True,
    is_named=True,
)
