"""What the pages of the core show of evaluations and hostile checks."""

from __future__ import annotations

from django.db.models import Exists, OuterRef
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from assistant.admin.base.own_addresses import reverse
from assistant.contrib.evaluations.admin import (
    evaluations,  # noqa: F401 - it registers
    try_as,
)
from assistant.contrib.evaluations.admin.hostile_check_runs import checks_link
from assistant.contrib.evaluations.admin.new_page import keep_case
from assistant.contrib.evaluations.job_names import EVALUATE_JOB, HOSTILE_CHECKS_JOB
from assistant.contrib.evaluations.models import Evaluation, HostileCheck, HostileCheckRun
from assistant.contrib.panel.admin.assistants.try_chat import try_as_with
from assistant.contrib.panel.admin.base.action_titles import name_actions
from assistant.contrib.panel.admin.base.added_links import DraftButton, add_draft_button, add_link
from assistant.contrib.panel.admin.base.empty_lists import describe_empty_list
from assistant.contrib.panel.admin.base.job_titles import describe_job
from assistant.contrib.panel.admin.base.rooms import show_in_room
from assistant.contrib.panel.admin.conversations.run_cases import keep_cases_with
from assistant.contrib.panel.admin.home.home import describe_need
from assistant.contrib.panel.reports.needs import MAX_COUNTED, Item, look_for
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.models import Assistant, PromptVersion, Run

HOSTILE_CHECKS = "hostile_checks"


def failed_checks(tenants: TenantFilter) -> list[Item]:
    """Return the assistants whose newest hostile checks that have ended failed."""
    ended = tenants.rows(HostileCheckRun.objects.filter(ended_at__isnull=False))
    newer = HostileCheckRun.objects.filter(
        tenant=OuterRef("tenant"), assistant=OuterRef("assistant"), pk__gt=OuterRef("pk"), ended_at__isnull=False
    )
    failed = ended.filter(failed__gt=0, tenant__is_active=True, assistant__is_active=True).exclude(Exists(newer))
    rows = failed.order_by("-pk").values_list("assistant__name", "failed", "tenant__name", "pk")
    return [Item(f"{name}: {count}", tenant, pk) for name, count, tenant, pk in rows[:MAX_COUNTED]]


def _evaluations_link(assistant: Assistant) -> SafeString:
    url = reverse("admin:assistant_evaluations_evaluation_changelist")
    return format_html('<a href="{}?assistant__id__exact={}">{}</a>', url, str(assistant.pk), _("Evaluations"))


def _try_link(run: Run) -> SafeString:
    url = reverse("admin:try_run", args=[run.pk])
    return format_html('<a class="try-run" href="{}">{}</a>', url, _("Try this on a draft"))


def _new_evaluation(version: PromptVersion) -> str:
    return f"{reverse('admin:new_evaluation', args=[version.assistant_id])}?version={version.number}"


show_in_room("assistants", Evaluation, after="promptversion")
show_in_room("assistants", HostileCheckRun, after="promptvariable")
show_in_room("assistants", HostileCheck, after="hostilecheckrun")
describe_empty_list(
    "evaluation", gettext_lazy("No draft has been compared yet. Open a prompt's editor, save a draft and compare it.")
)
describe_empty_list(
    "hostilecheckrun",
    gettext_lazy("No assistant has been checked yet. Open an assistant, and start its hostile checks."),
)
describe_empty_list(
    "hostilecheck", gettext_lazy("There are no checks of your own. Add what your assistants must never do.")
)
describe_job(EVALUATE_JOB, gettext_lazy("Run an evaluation"), page=Evaluation)
describe_job(HOSTILE_CHECKS_JOB, gettext_lazy("Make hostile checks of an assistant"), page=HostileCheckRun)
look_for(HOSTILE_CHECKS, failed_checks)
describe_need(
    HOSTILE_CHECKS,
    sentence=lambda n: ngettext(
        "%(n)s assistant has failed hostile checks", "%(n)s assistants have failed hostile checks", n
    ),
    every="assistant_evaluations_hostilecheckrun_changelist",
    page="assistant_evaluations_hostilecheckrun_change",
)
name_actions(HOSTILE_CHECKS, gettext_lazy("hostile checks"))
add_link("assistant", checks_link)
add_link("prompt", _evaluations_link)
add_link("run", _try_link)
add_draft_button("compare-answers", DraftButton(gettext_lazy("Save and compare answers"), _new_evaluation))
keep_cases_with(keep_case)
try_as_with(f"admin:{try_as.URL_NAME}")
name_actions(try_as.ACTION, gettext_lazy("Prompt tried as a member"))
