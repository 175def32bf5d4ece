"""A tool that uses its context and returns nothing of it."""

from __future__ import annotations

from pydantic import BaseModel

from assistant.toolkit import ToolContext, ToolError, tool


class Settings(BaseModel):
    """The settings of a tenant."""

    note: str = ""


@tool(config=Settings, secrets=["token"], enabled_by_default=True)
async def use_context(context: ToolContext, word: str = "") -> str:
    """Do something with what only the program knows."""
    assert context.secret("token") and context.config.note
    await context.report_progress(1, 2, "half")
    if word == "fail":
        raise ToolError("That did not work.")
    return f"Done, {word}."
