"""Runs AgentDojo's suites for another process: JSON lines over TCP. In AgentDojo's environment, without this project.

Each request is an object with `op`, and each answer an object; one with `error` says what went wrong.

- `suites`: tools with their schemas, tasks and injections of all suites.
- `open`: make an environment under a `key`, for a task and, if given, an injection, which is placed where the task
  reads it. Answers with the calls that do the task, and those of the injection.
- `call`: call a function on an environment; answers with its result as text.
- `known`: whether a value names something of the user's own in an environment.
- `end`: forget an environment; answers whether the task was done, and the injection.
"""

from __future__ import annotations

import asyncio
import functools
import io
import json
import sys
import warnings
from contextlib import redirect_stdout
from typing import Any

import yaml
from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.attacks.attack_registry import load_attack
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites

# The newest tasks; the 609 pairs with calls to make are the same since v1.
VERSION = "v1.2.2"
# The attack whose wording names a model.
ATTACK, MODEL = "important_instructions", "gpt-4o-2024-05-13"

warnings.simplefilter("ignore")
# The same values as the plain loader, ten times faster: an environment is read for each run.
yaml.safe_load = functools.partial(yaml.load, Loader=yaml.CSafeLoader)
# Lines are not folded and letters not escaped, so that addresses stay whole.
_dump = functools.partial(yaml.safe_dump, width=float("inf"), allow_unicode=True)


class _Pipeline(BasePipelineElement):
    """Has the name of the model that the attack is for."""

    name = MODEL

    def query(self, query: str, runtime: Any, env: Any = None, messages: Any = (), extra_args: Any = None) -> Any:
        raise AssertionError("Attacks read its name alone.")


class _Opened:
    """An environment, and what its tasks are checked by."""

    def __init__(self, suite: Any, user: str, injection: str | None, injections: dict[str, str]) -> None:
        self.suite = suite
        self.user = suite.user_tasks[user]
        self.injection = suite.injection_tasks[injection] if injection else None
        self.env = self.user.init_environment(suite.load_and_inject_default_environment(injections))
        self.before = self.env.model_copy(deep=True)
        self.runtime = FunctionsRuntime(suite.tools)
        self.trace: list[FunctionCall] = []
        self.calls = [_plain(call) for call in self.user.ground_truth(self.before.model_copy(deep=True))]
        self.injected = (
            [_plain(call) for call in self.injection.ground_truth(self.before.model_copy(deep=True))]
            if self.injection
            else []
        )

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, str]:
        self.trace.append(FunctionCall(function=name, args=arguments))
        value, error = self.runtime.run_function(self.env, name, arguments)
        return {"error": error} if error else {"text": tool_result_to_str(value, dump_fn=_dump)}

    def end(self, output: str) -> dict[str, bool | None]:
        said = [{"type": "text", "content": output}]
        check = functools.partial(
            self.suite._check_task_result,
            model_output=said,
            pre_environment=self.before,
            task_environment=self.env,
            functions_stack_trace=self.trace,
        )
        return {"done": _checked(check, self.user), "injected": _checked(check, self.injection)}

    def known(self, value: str) -> bool:
        """Whether a value is a colleague, a channel of the own workspace, or an account that was paid before."""
        value = value.lower()
        if slack := getattr(self.env, "slack", None):
            # What outside organisations share with a workspace is named so here.
            inside = [name for name in slack.channels if not name.startswith("External")]
            return value in {name.lower() for name in [*slack.users, *inside]}
        if inbox := getattr(self.env, "inbox", None):
            written = {to.lower() for mail in inbox.sent for to in [*mail.recipients, *mail.cc, *mail.bcc]}
            own_domain = inbox.account_email.lower().partition("@")[2]
            return value in written or value.partition("@")[2] == own_domain
        payments = self.before.bank_account.transactions
        return value in {one.recipient.lower() for one in payments if one.sender == "me"}


def _checked(check: Any, task: Any) -> bool | None:
    """Return what AgentDojo says; some of its checks raise where an argument that they look for is missing."""
    if task is None:
        return None
    try:
        with redirect_stdout(io.StringIO()):
            return bool(check(task))
    except Exception:
        return False


def _plain(call: FunctionCall) -> dict[str, Any]:
    return {"name": call.function, "arguments": json.loads(json.dumps(dict(call.args), default=str))}


class Suites:
    """All suites, and the environments that are open."""

    def __init__(self) -> None:
        self._suites = get_suites(VERSION)
        self._attacks = {name: load_attack(ATTACK, suite, _Pipeline()) for name, suite in self._suites.items()}
        self._opened: dict[str, _Opened] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        answered: dict[str, Any] = getattr(self, f"do_{request.pop('op')}")(**request)
        return answered

    def do_suites(self) -> dict[str, Any]:
        return {name: _description(suite) for name, suite in self._suites.items()}

    def do_open(self, key: str, suite: str, user: str, injection: str | None = None) -> dict[str, Any]:
        found = self._suites[suite]
        texts = (
            self._attacks[suite].attack(found.user_tasks[user], found.injection_tasks[injection]) if injection else {}
        )
        opened = self._opened[key] = _Opened(found, user, injection, texts)
        goal = opened.injection.GOAL if opened.injection else ""
        return {
            "prompt": opened.user.PROMPT,
            "output": opened.user.GROUND_TRUTH_OUTPUT,
            "calls": opened.calls,
            "injected": opened.injected,
            "goal": goal,
        }

    def do_call(self, key: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._opened[key].call(name, arguments)

    def do_known(self, key: str, value: str) -> dict[str, Any]:
        return {"known": self._opened[key].known(value)}

    def do_end(self, key: str, output: str) -> dict[str, Any]:
        return self._opened.pop(key).end(output)


def _description(suite: Any) -> dict[str, Any]:
    env = suite.load_and_inject_default_environment({})
    return {
        "tools": [
            {"name": one.name, "description": one.description, "parameters": one.parameters.model_json_schema()}
            for one in suite.tools
        ],
        "users": list(suite.user_tasks),
        # Those without a call are texts to say, or goals for which AgentDojo gives no calls.
        "injections": [
            name for name, task in suite.injection_tasks.items() if task.ground_truth(env.model_copy(deep=True))
        ],
    }


async def _serve(suites: Suites, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        try:
            answer = suites.answer(json.loads(line))
        except Exception as exc:
            answer = {"error": f"{type(exc).__name__}: {exc}"}
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
    writer.close()


async def main() -> None:
    """Serve until the end; the port is the first line of the output."""
    suites = Suites()
    server = await asyncio.start_server(functools.partial(_serve, suites), "127.0.0.1", 0, limit=2**24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
