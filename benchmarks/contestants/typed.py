"""A loop written by hand over the openai package's typed client, as its documentation shows it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from openai import AsyncOpenAI

from benchmarks.contestants.worker import Ask, run

PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": "add", "description": "Add two whole numbers.", "parameters": PARAMETERS},
    }
]


async def add(a: int, b: int) -> int:
    return a + b


def make(url: str) -> Ask:
    client = AsyncOpenAI(base_url=url, api_key="k")

    async def ask(prompt: str) -> str:
        messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt}]
        while True:
            text, calls = await _stream(client, messages)
            if not calls:
                return text
            wire = [
                {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["args"]}}
                for call in calls.values()
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": wire})
            results = await asyncio.gather(*(add(**json.loads(call["args"])) for call in calls.values()))
            for call, result in zip(calls.values(), results, strict=True):
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})

    return ask


async def _stream(client: AsyncOpenAI, messages: list[Any]) -> tuple[str, dict[int, dict[str, str]]]:
    text = ""
    calls: dict[int, dict[str, str]] = {}
    stream = await client.chat.completions.create(
        model="m", messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
    )
    async for chunk in stream:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or ():
                call = calls.setdefault(piece.index, {"id": "", "name": "", "args": ""})
                call["id"] += piece.id or ""
                if piece.function:
                    call["name"] += piece.function.name or ""
                    call["args"] += piece.function.arguments or ""
    return text, calls


if __name__ == "__main__":
    run(make)
