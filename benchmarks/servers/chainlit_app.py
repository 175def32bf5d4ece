"""Chainlit's first example of streaming an answer of the openai client."""

from __future__ import annotations

import chainlit as cl
from openai import AsyncOpenAI

client = AsyncOpenAI()


@cl.on_message
async def on_message(message: cl.Message) -> None:
    answer = cl.Message(content="")
    stream = await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": message.content}], stream=True
    )
    async for chunk in stream:
        if chunk.choices and (token := chunk.choices[0].delta.content):
            await answer.stream_token(token)
    await answer.update()
