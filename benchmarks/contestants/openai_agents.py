"""openai-agents, without its tracing, which would send everything to OpenAI."""

from __future__ import annotations

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from benchmarks.contestants.worker import Ask, run


@function_tool
async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


def make(url: str) -> Ask:
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel(model="m", openai_client=AsyncOpenAI(base_url=url, api_key="k"))
    agent = Agent(name="bench", instructions="Be brief.", model=model, tools=[add])

    async def ask(prompt: str) -> str:
        text = ""
        result = Runner.run_streamed(agent, prompt)
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                text += event.data.delta
        return text

    return ask


if __name__ == "__main__":
    run(make)
