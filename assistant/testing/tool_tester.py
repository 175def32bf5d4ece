"""Helpers for testing tools: calls them as a run does, with a custom context."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from assistant.toolkit.calls.call import ToolResult
from assistant.toolkit.context import TenantInfo, ToolContext, UserInfo
from assistant.toolkit.definition.failures import decide
from assistant.toolkit.definition.settings import calls_functions, given_config, given_secrets
from assistant.toolkit.definition.tool import Arguments, Tool
from assistant.toolkit.errors import ToolError
from assistant.toolkit.unknown_options import lists_options
from assistant.toolkit.waiting import Callback


@lists_options
class ToolTester:
    """Calls a tool as a run does: with validation, its thread, its timeout and conversion of the result.

    `progress` lists what the tool reported, as (done, total, message).

    Args:
        tenant, user: a slug and a username are enough.
        config: the tenant's settings, as a mapping or the tool's config model. Default: the model's defaults.
        fields: further fields of `ToolContext`, such as `secrets` and `extra`.

    Raises:
        InvalidTool: the settings are not valid, or the tool does not declare a secret.
    """

    def __init__(
        self,
        tool: Tool,
        *,
        tenant: TenantInfo | str = "acme",
        user: UserInfo | str = "alice",
        config: Any = None,
        **fields: Any,
    ) -> None:
        if "secrets" in fields:
            given_secrets(tool, fields["secrets"])
        self.tool = tool
        self.progress: list[tuple[float, float | None, str]] = []
        self.context = ToolContext(
            tenant=TenantInfo(id=1, slug=tenant, name=tenant.title()) if isinstance(tenant, str) else tenant,
            user=UserInfo(id=1, username=user) if isinstance(user, str) else user,
            config=_config(tool, config),
            progress=self._record_progress,
            **{"own_callback": Callback("test-token", "/test-token/") if tool.waits else None, **fields},
        )

    async def call(self, arguments: Arguments = None, /, **named: Any) -> ToolResult:
        """Call the tool with arguments as JSON, as a mapping, or by name.

        Raises:
            ToolError: an error for the model.
            TimeoutError: the tool took longer than its `timeout`.
            Exception: any other exception of the tool.
        """
        async with asyncio.timeout(self.tool.timeout):
            return await self.tool.call(named if arguments is None else arguments, self.context)

    async def read(self, arguments: Arguments = None, /, **named: Any) -> str:
        """Return what the model would read: the result, the message of a `ToolError`, or what `on_error` says.

        Raises what a tool raises unexpectedly, if its `on_error` gives no sentence for it.
        """
        try:
            return (await self.call(arguments, **named)).content
        except ToolError as exc:
            return str(exc)
        except Exception as exc:
            decided = await decide(exc, self.tool.on_error, "raise", tool=self.tool.name, context=self.context)
            if decided.sentence is None:
                raise decided.raised or exc  # noqa: B904 - it is this exception, or has its own cause
            return decided.sentence

    def run(self, arguments: Arguments = None, /, **named: Any) -> ToolResult:
        """Like `call`, for tests that are not async."""
        return asyncio.run(self.call(arguments, **named))

    @property
    def is_offered(self) -> bool:
        """Whether the tool is offered in this context."""
        if not _has_loop():
            return self.tool.for_context(self.context) is not None
        with ThreadPoolExecutor(1) as pool:  # async functions cannot be asked here, where an event loop runs
            return pool.submit(self.tool.for_context, self.context).result() is not None

    async def _record_progress(self, done: float, total: float | None, message: str) -> None:
        self.progress.append((done, total, message))


def _config(tool: Tool, given: Any) -> Any:
    if tool.config is None or not calls_functions(tool.config) or not _has_loop():
        return given_config(tool, given)
    with ThreadPoolExecutor(1) as pool:  # as in a run, where they may query the database
        return pool.submit(given_config, tool, given).result()


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
