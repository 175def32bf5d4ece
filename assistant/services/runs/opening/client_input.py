"""What a run's row keeps of its input besides messages, its language and trace, so that another process can go on.

The project's own language is kept in no row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.utils.translation import get_language

from assistant.core.toolcalls.protocols import Decision
from assistant.models import Run
from assistant.services.runs.input.forwarded_props import ForwardedProps
from assistant.services.runs.input.page_context import Page
from assistant.services.runs.run_input import CallerSettings, ClientHistory, RunInput
from assistant.toolkit import Tool
from assistant.toolkit.carried_context import trace_headers


def to_store(given: RunInput, decisions: Mapping[str, Decision]) -> dict[str, str] | None:
    """Return what a run's row keeps of its input; None if there is nothing, as for most runs.

    Each part is a JSON text, because PostgreSQL's own JSON cannot hold all characters that clients send.

    Args:
        decisions: on calls that waited for approval, by call id.
    """
    language = given.language or get_language()
    is_others = language is not None and language != settings.LANGUAGE_CODE
    trace = trace_headers()
    asked = None if given.asked is None else asdict(given.asked)
    options = given.options
    own = given.client_tools or options.output_schema or options.added or given.page or given.history.has_instructions
    own = own or asked or decisions or given.is_unattended
    if options.allowed_tools is None and not (own or is_others or trace):
        return None
    tools = [{"name": one.name, "description": one.description, "schema": one.parameters} for one in given.client_tools]
    kept = {
        "decisions": {call_id: _decision_values(one) for call_id, one in decisions.items()},
        "tools": tools,
        "answer_schema": options.output_schema,
        "options": options.added,
        "context": given.page and given.page.context,
        "state": given.page and given.page.state,
        "has_instructions": given.history.has_instructions,
        "is_unattended": given.is_unattended,
        "language": language if is_others else "",
        "asked": asked,
        "trace": trace,
    }
    found = {name: json.dumps(value) for name, value in kept.items() if value}
    if options.allowed_tools is not None:  # an empty list allows none
        found["allowed_tools"] = json.dumps(sorted(options.allowed_tools))
    return found


def stored_input(run: Run) -> tuple[RunInput, dict[str, Decision]]:
    """Return the input that a run's row keeps, without its messages, and the decisions by call id."""
    kept = _stored(run)
    allowed = kept.get("allowed_tools")
    given = RunInput(
        thread_id=run.conversation_id,
        run_id=run.run_id,
        client_tools=tuple(
            Tool.client_side(name=one["name"], description=one["description"], parameters=one["schema"])
            for one in kept.get("tools", ())
        ),
        options=ForwardedProps(
            output_schema=kept.get("answer_schema"),
            allowed_tools=None if allowed is None else frozenset(allowed),
            added=kept.get("options", {}),
        ),
        page=Page(kept.get("context", ""), kept.get("state")) if "context" in kept or "state" in kept else None,
        history=ClientHistory(has_instructions=kept.get("has_instructions", False)),
        is_unattended=kept.get("is_unattended", False),
        asked=CallerSettings(**kept["asked"]) if "asked" in kept else None,
    )
    return given, {call_id: Decision(**one) for call_id, one in kept.get("decisions", {}).items()}


def _decision_values(decision: Decision) -> dict[str, Any]:
    """Return the fields of a decision; without `answers`, which an earlier version does not know, if it has none."""
    return {name: value for name, value in asdict(decision).items() if name != "answers" or value is not None}


def waiting_to_store() -> dict[str, str] | None:
    """Return what the row of a run that waits keeps: it goes on in the active language and the current trace."""
    language = get_language()
    kept = {"language": "" if language == settings.LANGUAGE_CODE else language, "trace": trace_headers()}
    return {name: json.dumps(value) for name, value in kept.items() if value} or None


def language_of(run: Run) -> str:
    """Return the language of the sentences that the client of an active or waiting run reads."""
    return str(_stored(run).get("language", settings.LANGUAGE_CODE))


def trace_of(run: Run) -> dict[str, str]:
    """Return the headers that name the span which an active or waiting run belongs to; empty if there is none."""
    return dict(_stored(run).get("trace", {}))


def _stored(run: Run) -> dict[str, Any]:
    return {name: json.loads(text) for name, text in (run.client_input or {}).items()}
