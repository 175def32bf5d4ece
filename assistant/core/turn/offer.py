"""Which tools a request to the model offers, and whether it must call one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assistant.core.turn.plan import Plan
from assistant.core.values.messages import Message
from assistant.toolkit import Tool
from assistant.toolkit.definition import conditions


async def offered_tools(plan: Plan, known: Mapping[str, conditions.Offer] | None = None) -> list[Tool]:
    """Return the tools of the next request: those of the toolset that are available now, then the client's.

    Tools that ask a person are left out where nobody can be asked or no form comes back, and those that wait where
    nothing goes on later.

    Args:
        known: what tools have answered already, by their names; they are not asked again.
    """
    offered = await conditions.offered_tools(await plan.toolset.offered(), plan.context, known)
    tools = [tool for tool in offered if _is_possible(tool, plan)]
    names = {tool.name for tool in tools}
    return [*tools, *(tool for tool in plan.client_tools if tool.name not in names)]


def _is_possible(tool: Tool, plan: Plan) -> bool:
    questions = plan.calls.questions
    has_person = questions.can_ask and questions.has_forms
    return (has_person or tool.asks is None) and (plan.calls.callbacks is not None or not tool.waits)


def choice_of_round(choice: str | None, messages: Iterable[Message]) -> str | None:
    """Return the tool choice of the next request: a call that is required is required once.

    A model that had to call a tool in every round could never answer.

    Args:
        choice: of the run.
        messages: what the run has produced so far.
    """
    is_required = choice not in (None, "auto", "none")
    return None if is_required and any(message.role == "tool" for message in messages) else choice
