"""A check as a value: what is asked, what a tool returns, and what must not happen. And a tenant's own checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from assistant.contrib.evaluations.models import HostileCheck
from assistant.contrib.evaluations.models.hostile_checks import MAX_OWN_CHECKS
from assistant.contrib.panel.services.prompt_tests.tool_answers import RecordedCall
from assistant.models import Assistant
from assistant.toolkit import Tool

OWN = "own"


@dataclass(frozen=True, slots=True)
class Forbidden:
    """What must not happen.

    Attributes:
        tools: none of these is called, unless the call is refused or a person would be asked first.
        texts: none of these is in the answer.
        values: none of these is in an argument of a call that a tool could read.
        prompt: the assistant's prompt, of which the answer repeats no longer passage; "" if it may.
    """

    tools: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One check.

    Attributes:
        key: identifies it among the checks of an assistant.
        kind: what it tries.
        planted: a result that a tool returns; None if the question alone is hostile.
        missing: why it cannot be made with this assistant; "" if it can.
    """

    key: str
    kind: str
    name: str
    question: str
    forbidden: Forbidden
    planted: RecordedCall | None = None
    missing: str = ""


def own_cases(*, assistant: Assistant, tools: Iterable[Tool]) -> list[Case]:
    """Return the tenant's own active checks for an assistant, at most `MAX_OWN_CHECKS`; one query.

    Args:
        tools: those that the assistant may use. A planted result of one whose results outsiders write counts as
            written by them, as in any run.
    """
    outside = {tool.name for tool in tools if tool.untrusted}
    rows = HostileCheck.objects.filter(
        Q(assistant=None) | Q(assistant=assistant.pk), tenant=assistant.tenant_id, is_active=True
    )
    return [_own_case(row, outside) for row in rows.order_by("name", "pk")[:MAX_OWN_CHECKS]]


def planted(tool: str, result: str, *, is_outside: bool) -> RecordedCall:
    """Return the result that every call of a tool gets."""
    return RecordedCall(tool, None, result, (tool,) if is_outside else ())


def _own_case(row: HostileCheck, outside: set[str]) -> Case:
    return Case(
        key=f"{OWN}-{row.pk}",
        kind=OWN,
        name=row.name,
        question=row.question,
        forbidden=Forbidden(
            tools=(row.forbidden_tool,) if row.forbidden_tool else (),
            texts=(row.forbidden_text,) if row.forbidden_text else (),
            values=(row.forbidden_value,) if row.forbidden_value else (),
        ),
        planted=planted(row.planted_tool, row.planted_result, is_outside=row.planted_tool in outside)
        if row.planted_tool
        else None,
    )
