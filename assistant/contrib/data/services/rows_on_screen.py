"""The rows that a message is about: what callers of runs send of them, and what the model is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.translation import override

from assistant.contrib.data.services import references
from assistant.contrib.data.services.mentions import DOCUMENT, TOOL, told_mention
from assistant.contrib.data.services.references import InvalidReference, Reference
from assistant.core.turn.plan import Plan
from assistant.core.values.untrusted import fenced
from assistant.models import Assistant
from assistant.services.errors import Refused
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.toolpolicy.policy import EffectiveTool
from assistant.toolkit.text import clean_text

OPTION = "rows"
MAX_ROWS = 5
MAX_NAME = 200
WHAT = "the rows, documents and tools that the user's message is about"


def parse_rows(given: object) -> list[list[str]]:
    """Parse `forwardedProps.rows`: objects with a `reference`, and the `name` by which the message calls the row.

    Raises:
        Refused: `invalid_input`, if it is none, has too many, or one was not signed here or has expired.
    """
    if not isinstance(given, list) or len(given) > MAX_ROWS:
        raise _refused(f"must be a list of at most {MAX_ROWS} objects")
    return [_parsed(number, one) for number, one in enumerate(given)]


def _parsed(number: int, given: object) -> list[str]:
    text = given.get("reference") if isinstance(given, dict) else None
    name = given.get("name", "") if isinstance(given, dict) else ""
    if not isinstance(text, str) or not isinstance(name, str) or len(name) > MAX_NAME:
        raise _refused(f"{number} must be an object with a reference and a name of at most {MAX_NAME} characters")
    try:
        found = references.read(text)
    except InvalidReference as exc:
        raise _refused(f"{number} {exc}") from exc
    return [found.tenant, found.user, found.model, found.pk, " ".join(clean_text(name).split())]


def _refused(problem: str) -> Refused:
    return Refused("invalid_input", f"forwardedProps.{OPTION}{'.' if problem[0].isdigit() else ' '}{problem}.")


@dataclass(frozen=True)
class RowsOnScreen(RunExtension[None]):
    """Tells the model with the user's message which rows it is about. It reads them with their tools, if it may."""

    name = "assistant_data.rows"
    text: str

    def planned(self, plan: Plan) -> Plan:
        messages = list(plan.messages)
        for place in range(len(messages) - 1, -1, -1):
            if (asked := messages[place]).role == "user":
                page = "\n\n".join(part for part in (asked.page, fenced(self.text, WHAT)) if part)
                messages[place] = replace(asked, page=page)
                break
        return replace(plan, messages=messages)


def rows_on_screen(
    key: RunKey, assistant: Assistant, tools: Sequence[EffectiveTool], rows: Sequence[Sequence[str]]
) -> Sequence[RowsOnScreen]:
    """Return the extension of a run whose caller names rows. Nothing is read: that is for the rows' tools.

    Raises:
        Refused: a reference was made for somebody else, or for another tenant.
    """
    names = {one.tool.name for one in tools if one.policy != "off"}
    lines = []
    for number, (tenant, user, model, pk, called) in enumerate(rows):
        if (tenant, user) != (str(key.tenant_id), str(key.user_id)):
            raise _refused(f"{number} is no reference of this site")
        lines.append(_told(Reference(tenant, user, model, pk), called, names))
    return (RowsOnScreen("\n".join(lines)),) if lines else ()


def _told(reference: Reference, called: str, tools: set[str]) -> str:
    if reference.model in (DOCUMENT, TOOL):
        return told_mention(reference, called, tools)
    plan = reference.plan
    if plan is None or plan.tools[1] not in tools:
        return f"- {_quoted(called) or 'The row on the screen'}: no tool of yours reads it. Say so if it matters."
    get = plan.tools[1]
    with override(None):
        kind = str(plan.model._meta.verbose_name)
    where = f"called {_quoted(called)} in the message" if called else "on the user's screen"
    return f"- The {kind} {where}. Read it with {get}, id {_quoted(reference.pk)}."


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if text else ""
