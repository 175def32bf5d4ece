"""LangGraph's ready-made agent on langchain-openai."""

from __future__ import annotations

import warnings

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

from benchmarks.contestants.worker import Ask, run

# The function has moved to another package, which has more dependencies.
warnings.filterwarnings("ignore", message="create_react_agent has been moved")


@tool
async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


def make(url: str) -> Ask:
    model = ChatOpenAI(model="m", base_url=url, api_key="k", streaming=True, stream_usage=True)
    graph = create_react_agent(model, [add], prompt="Be brief.")

    async def ask(prompt: str) -> str:
        text = ""
        async for chunk, _ in graph.astream({"messages": [("user", prompt)]}, stream_mode="messages"):
            if chunk.type == "AIMessageChunk" and isinstance(chunk.content, str):
                text += chunk.content
        return text

    return ask


if __name__ == "__main__":
    run(make)
