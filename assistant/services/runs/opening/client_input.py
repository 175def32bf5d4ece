"""What a client gave with a run besides messages, as its row keeps it for a process that goes on with the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from assistant.core.toolcalls.protocols import Decision
from assistant.models import Run
from assistant.services.runs.run_input import RunInput
from assistant.toolkit import Tool


def to_store(given: RunInput, decisions: Mapping[str, Decision]) -> dict[str, Any] | None:
    """Return what a run's row keeps of its input, as JSON values; None if there is nothing, as for most runs.

    Args:
        decisions: on calls that waited for approval, by call id.
    """
    if given.allowed_tools is None and not (
        decisions or given.client_tools or given.output_schema or given.context or given.state or given.has_instructions
    ):
        return None
    tools = [{"name": one.name, "description": one.description, "schema": one.parameters} for one in given.client_tools]
    kept = {
        "decisions": {call_id: asdict(one) for call_id, one in decisions.items()},
        "tools": tools,
        "answer_schema": given.output_schema,
        "context": given.context,
        "state": given.state,
        "has_instructions": given.has_instructions,
    }
    found = {name: value for name, value in kept.items() if value}
    if given.allowed_tools is not None:  # an empty list allows none
        found["allowed_tools"] = sorted(given.allowed_tools)
    return found


def stored_input(run: Run) -> tuple[RunInput, dict[str, Decision]]:
    """Return the input that a run's row keeps, without its messages, and the decisions by call id."""
    kept: Mapping[str, Any] = run.client_input or {}
    allowed = kept.get("allowed_tools")
    given = RunInput(
        thread_id=run.conversation_id,
        run_id=run.run_id,
        client_tools=tuple(
            Tool.client_side(name=one["name"], description=one["description"], parameters=one["schema"])
            for one in kept.get("tools", ())
        ),
        output_schema=kept.get("answer_schema"),
        allowed_tools=None if allowed is None else frozenset(allowed),
        context=kept.get("context", ""),
        state=kept.get("state", {}),
        has_instructions=kept.get("has_instructions", False),
    )
    return given, {call_id: Decision(**one) for call_id, one in kept.get("decisions", {}).items()}
