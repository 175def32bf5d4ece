"""Pydantic AI."""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.contestants.worker import Ask, run


def make(url: str) -> Ask:
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="k"))
    agent = Agent(model, instructions="Be brief.")

    @agent.tool_plain
    async def add(a: int, b: int) -> int:
        """Add two whole numbers."""
        return a + b

    async def ask(prompt: str) -> str:
        text = ""
        async with agent.run_stream(prompt) as result:
            async for piece in result.stream_text(delta=True, debounce_by=None):
                text += piece
        return text

    return ask


if __name__ == "__main__":
    run(make)
