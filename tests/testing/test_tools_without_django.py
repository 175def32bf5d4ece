"""`ToolTester`, for tests of tools."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel

from assistant.testing.tool_tester import ToolTester
from assistant.toolkit import InvalidArguments, ToolContext, ToolError, tool


class Settings(BaseModel):
    greeting: str = "Hello"


@tool(config=Settings, secrets=["key"], needs_context=["shop"], timeout=0.05)
async def greet(name: str, context: ToolContext) -> dict[str, Any]:
    """Greet somebody."""
    await context.report_progress(1, 2, "thinking")
    if name == "nobody":
        raise ToolError("There is nobody.")
    if name == "slow":
        await asyncio.sleep(60)
    return {"said": f"{context.config.greeting} {name} of {context.tenant.slug}", "key": len(context.secret("key"))}


async def test_a_call_is_made_as_a_run_makes_it() -> None:
    tester = ToolTester(greet, tenant="globex", config={"greeting": "Hi"}, secrets={"key": "abc"})
    assert (await tester.call(name="Ada")).value == {"said": "Hi Ada of globex", "key": 3}
    assert await tester.read('{"name": "Ada"}') == '{"said":"Hi Ada of globex","key":3}'
    assert tester.progress == [(1, 2, "thinking")] * 2


async def test_the_text_that_the_model_reads_of_a_failure_can_be_tested() -> None:
    tester = ToolTester(greet)
    assert await tester.read(name="nobody") == "There is nobody."
    assert "'key' of this tool is not set" in await tester.read(name="Ada")
    assert "name: missing" in await tester.read()
    with pytest.raises(InvalidArguments):
        await tester.call(nmae="Ada")


async def test_the_timeout_holds() -> None:
    with pytest.raises(TimeoutError):
        await ToolTester(greet).call(name="slow")


def test_it_works_without_async_too() -> None:
    assert ToolTester(greet, secrets={"key": ""}).run(name="Ada").value["said"] == "Hello Ada of acme"


def test_is_offered_reports_whether_the_tool_is_offered() -> None:
    assert not ToolTester(greet).is_offered
    assert ToolTester(greet, extra={"shop": 1}).is_offered


def test_it_needs_no_django() -> None:
    script = "import sys; from assistant.testing.tool_tester import ToolTester; print('django' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
