"""Whether the deployment may only read: until an operator has confirmed its reach, and whenever one says so."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.contrib.data.models import ReachReview
from assistant.contrib.data.services.plans import plans
from assistant.contrib.data.services.structure import exposes_views, structure
from assistant.services.tenancy import audit_trail, change_notices

# How far back the page compares.
COMPARED = timedelta(days=30)


def read_only_reason() -> str:
    """Return why no tool with an effect may run; "" if they may, as where nothing is exposed."""
    if not plans() and not exposes_views():
        return ""
    is_read_only = ReachReview.objects.values_list("is_read_only", flat=True).first()
    if is_read_only is None:
        return _("an operator has not confirmed yet what the assistant can reach")
    return _("an operator has set the assistant to read only") if is_read_only else ""


def review(*, actor: audit_trail.Actor, is_read_only: bool) -> ReachReview:
    """Record that an operator has seen the reach, and whether tools with effects may run from now on.

    The caller has checked that `actor` is an operator; None for a command.
    """
    made = ReachReview.objects.create(
        user_id=None if actor is None else actor.pk, is_read_only=is_read_only, reach=structure()
    )
    action = "data.read_only" if is_read_only else "data.confirm"
    audit_trail.record(actor=actor, action=action, target=f"{len(made.reach)} models")
    change_notices.notify()
    return made


def compared_review() -> ReachReview | None:
    """Return the review to compare with: the newest that is a month old, else the oldest; None without any."""
    before = ReachReview.objects.filter(created_at__lte=timezone.now() - COMPARED).first()
    return before or ReachReview.objects.last()


def latest_review() -> ReachReview | None:
    """Return the review that holds; None if there was none."""
    return ReachReview.objects.select_related("user").first()


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return what has changed of the reach, a sentence each."""
    told: list[str] = []
    for label in sorted({*before, *now}):
        old = before.get(label)
        new = now.get(label)
        if old is None or new is None:
            sentence = _("%(model)s is new.") if old is None else _("%(model)s is no longer there.")
            told.append(sentence % {"model": label})
            continue
        heads = _heads()
        told.extend(
            f"{label}, {heads.get(name, name)}: {_change(old.get(name), new.get(name))}"
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        )
    return told


def _heads() -> dict[str, str]:
    """Return what the page calls the parts of the reach."""
    return {
        "tools": _("Tools"),
        "problem": _("Not offered"),
        "path": _("Path to the tenant"),
        "fields": _("Columns"),
        "filters": _("Found by"),
        "personal": _("Personal"),
        "left_out": _("Left out"),
        "not_named": _("Not named"),
        "rules": _("Rules"),
    }


def _change(old: Any, new: Any) -> str:
    """Return a change in words: of two lists what came and what went, unless only their order is another."""
    if isinstance(old, list) and isinstance(new, list):
        parts = [f"+ {one}" for one in new if one not in old] + [f"− {one}" for one in old if one not in new]
        if parts:
            return ", ".join(parts)
    return f"{_text(old)} → {_text(new)}"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return "–" if value in (None, "") else str(value)
