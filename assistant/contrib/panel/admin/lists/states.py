"""The states of rows on lists: what each means for whoever looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.filters import NewestValuesFilter
from assistant.contrib.panel.admin.lists.cells import Tone, state
from assistant.models import Run, ToolCall

_RUNS: Mapping[str, Tone] = {
    Run.Status.FINISHED: "good",
    Run.Status.FAILED: "bad",
    Run.Status.INTERRUPTED: "bad",
    Run.Status.CANCELLED: "off",
}
_CALLS: Mapping[str, Tone] = {
    ToolCall.Status.OK: "good",
    ToolCall.Status.ERROR: "bad",
    ToolCall.Status.UNKNOWN: "bad",
    ToolCall.Status.TIMEOUT: "bad",
    ToolCall.Status.INTERRUPTED: "bad",
    ToolCall.Status.REFUSED: "off",
    ToolCall.Status.CANCELLED: "off",
    ToolCall.Status.DECLINED: "off",
    ToolCall.Status.EXPIRED: "off",
}
# Why runs failed. Codes of later versions, and of apps, are shown in words of their own.
_ERRORS: Mapping[str, str | Promise] = {
    "provider_error": _("the provider failed"),
    "provider_quota": _("the provider's quota is used up"),
    "provider_rate_limited": _("the provider took no more requests"),
    "provider_timeout": _("the provider did not answer in time"),
    "limit_reached": _("a limit was reached"),
    "quota_exceeded": _("the tenant's limit was reached"),
    "internal_error": _("an error on this side"),
    "interrupted": _("its process ended"),
    "unavailable": _("this side was not available"),
}


def state_of_run(run: Run) -> SafeString:
    """Return how a run ended, or that it has not."""
    return state(_RUNS.get(run.status, "waits"), run.get_status_display())


def state_of_call(call: ToolCall) -> SafeString:
    """Return how a tool call ended, or that it has not."""
    return state(_CALLS.get(call.status, "waits"), call.get_status_display())


def active_or_off(is_active: bool) -> SafeString:
    """Return whether something is in use."""
    return state("good", gettext("active")) if is_active else state("off", gettext("off"))


def error_words(code: str) -> str:
    """Return why a run failed, in words; empty if it did not."""
    return str(_ERRORS.get(code, code.replace("_", " ")))


class ErrorFilter(NewestValuesFilter):
    """Filter by why runs failed, in words."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = gettext("error")

    def choices(self, changelist: Any) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield {**choice, "display": _ERRORS.get(str(choice["display"]), choice["display"])}
