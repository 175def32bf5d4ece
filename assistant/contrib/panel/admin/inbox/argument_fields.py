"""The arguments of a waiting call as form fields, by the schema of its tool."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms

from assistant.contrib.panel.admin.base.schema_fields import UNSET, field_of
from assistant.models import Approval
from assistant.services.text import read_json
from assistant.services.toolcalls.midway_questions import stored_question
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Question
from assistant.toolkit.calls.gate import HandedIn, ask_from_thread
from assistant.toolkit.schema.form import FormField, form_of

logger = logging.getLogger(__name__)

PREFIX = "arg_"


@dataclass(frozen=True)
class Arguments:
    """The values of a waiting call and the fields of its form: its arguments, or the answer to its question."""

    asked: Mapping[str, Any]
    form: Sequence[FormField]

    def fields(self) -> dict[str, forms.Field]:
        """Return a form field for each argument, with the value that the call asks for."""
        return {f"{PREFIX}{one.name}": self._field(one) for one in self.form}

    def _field(self, wanted: FormField) -> forms.Field:
        found = field_of(wanted, self.asked.get(wanted.name, UNSET))
        if isinstance(found, forms.CharField) and wanted.kind in {"text", "lines"}:
            # Text of several lines stays as it is, up to its last space.
            found.strip = False
            found.widget = forms.Textarea(attrs={"rows": 2, "cols": 80})
        return found

    def missing(self, cleaned: Mapping[str, Any]) -> list[str]:
        """Return the names of required arguments that a submitted form leaves empty."""
        required = [one.name for one in self.form if one.is_required and self.asked.get(one.name) != ""]
        return [name for name in required if cleaned.get(f"{PREFIX}{name}") in (None, "")]

    def edited(self, cleaned: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments of a submitted form, or None if it changes nothing. Those without a field are kept."""
        given = dict(self.asked)
        for one in self.form:
            name = one.name
            value = cleaned.get(f"{PREFIX}{name}")
            if _is_same(value, self.asked.get(name)):
                continue
            if value in (None, ""):
                given.pop(name, None)
            else:
                given[name] = value.replace("\r\n", "\n") if isinstance(value, str) else value
        return None if given == self.asked else given


def arguments_of(call: Approval) -> Arguments | None:
    """Return the arguments of a call for a form, or None if not each of them can have a field."""
    try:
        asked = read_json(call.arguments or "{}")
    except ValueError:
        return None
    # Schemas of external servers are untrusted, so the arguments of their tools are edited as JSON.
    if not isinstance(asked, dict) or call.name not in catalogue.registry():
        return None
    parameters = catalogue.registry().get(call.name).parameters
    form = form_of(parameters)
    if not form or not asked.keys() <= {one.name for one in form}:
        # A person who approves a call must see all of its arguments.
        return None
    return Arguments(asked, form)


def may_ask(call: Approval) -> bool:
    """Whether a call asks a question, which its tool is not asked for here."""
    tools = catalogue.registry()
    return stored_question(call.questions) is not None or (call.name in tools and tools.get(call.name).asks is not None)


def question_of(call: Approval) -> Question | None:
    """Return the question that a call asks, or None if it waits for an approval."""
    if (asked := stored_question(call.questions)) is not None:
        return asked
    if call.name not in catalogue.registry():
        return None
    tool = catalogue.registry().get(call.name)
    if tool.asks is None:
        return None
    try:
        asking = HandedIn(tool.asks, (asyncio.run(tool.checked(call.arguments)),), "asks", tool.name, Question)
        question: Question = ask_from_thread(asking).result()
    except Exception:  # the author's functions can raise anything
        logger.warning("The question of the call %s of tool %s cannot be shown", call.call_id, tool.name, exc_info=True)
        return None
    return question


def _is_same(value: Any, asked: Any) -> bool:
    """Return whether a submitted value is what was asked for; browsers send line ends of their own."""
    if value in (None, "") and asked in (None, ""):
        return True
    if isinstance(value, str) and not isinstance(asked, bool | None):
        shown = asked if isinstance(asked, str) else json.dumps(asked)
        return value.replace("\r\n", "\n") == shown.replace("\r\n", "\n")
    return (type(value) is not bool and value == asked) or value is asked
