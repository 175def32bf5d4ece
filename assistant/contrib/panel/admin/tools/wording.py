"""Sentences of the board's pages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assistant.admin.base.names import state_word
from assistant.contrib.panel.services.last_switches import LastSwitch
from assistant.contrib.panel.services.undone_switches import LatestChange
from assistant.core.toolcalls.protocols import Policy
from assistant.services.toolpolicy.switch_changes import Change

# Switches that a sentence names one by one.
NAMED_SWITCHES = 3


def after_outside(*, policy: Policy, marked: Policy, is_read_only: bool, has_destinations: bool) -> str:
    """Return the sentence about a tool that is not off, for conversations that have read text from outside."""
    if marked == policy:
        if marked == "ask":
            return _("asks first, as always.")
        if is_read_only and not has_destinations:
            return _("stays on, because it only reads.")
        return _("stays on, because the tenant has no rule.")
    if marked == "ask":
        if has_destinations:
            return _("asks first, unless a person or trusted text named where it goes.")
        return _("asks first, and is refused where nobody can be asked.")
    return _("off, unless a person or trusted text named where it goes.") if has_destinations else _("off.")


def time_of(at: datetime) -> str:
    return date_format(localtime(at), "SHORT_DATETIME_FORMAT")


def last_change(last: LastSwitch | None) -> str:
    """Return who changed a switch last, and when; "" if nobody has."""
    if last is None:
        return ""
    return _("Last set by %(who)s, %(when)s") % {"who": last.who or _("a command"), "when": time_of(last.at)}


def change_message(change: Change, policy: str) -> str:
    """Return what a change of several switches did."""
    count = len(change.changed)
    done = ngettext(
        "%(count)d switch: %(what)s, from the next tool call on.",
        "%(count)d switches: %(what)s, from the next tool call on.",
        count,
    )
    return " ".join([done % {"count": count, "what": state_word(policy)}, *left_message(change)])


def left_message(change: Change) -> list[str]:
    """Return a sentence about switches that a change left, if there are any."""
    count = len(change.left)
    if not count:
        return []
    sentence = ngettext(
        "%(count)d was left, because it holds settings or was changed meanwhile.",
        "%(count)d were left, because they hold settings or were changed meanwhile.",
        count,
    )
    return [sentence % {"count": count}]


def overtaken_message(switches: Sequence[tuple[str, str, LastSwitch | None]]) -> str:
    """Return who has set which switches of which tenants meanwhile, and that they were left."""
    first = [
        f"{tool}, {tenant} ({last_change(last)})" if last is not None else f"{tool}, {tenant}"
        for tool, tenant, last in switches[:NAMED_SWITCHES]
    ]
    more = len(switches) - len(first)
    sentence = _(
        "Somebody else has set this meanwhile, and it is left as it is: %(switches)s. Set it again to replace it."
    )
    return sentence % {"switches": "; ".join([*first, *([f"+{more}"] if more else [])])}


def undo_label(latest: LatestChange | None) -> dict[str, Any] | None:
    """Return the id and the sentence of the change that can be taken back."""
    if latest is None:
        return None
    values = {
        "count": latest.count,
        "what": state_word(latest.policy) if latest.policy else _("as before"),
        "tool": latest.tool,
        "when": date_format(localtime(latest.at), "TIME_FORMAT"),
    }
    if latest.tool:
        sentence = ngettext(
            "%(when)s: you set %(tool)s (%(what)s).",
            "%(when)s: you set %(tool)s for %(count)d tenants or assistants (%(what)s).",
            latest.count,
        )
    else:
        sentence = ngettext(
            "%(when)s: you set %(count)d switch (%(what)s).",
            "%(when)s: you set %(count)d switches (%(what)s).",
            latest.count,
        )
    return {"id": latest.id, "sentence": sentence % values}
