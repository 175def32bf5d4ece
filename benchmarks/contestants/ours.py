"""The product's core: `ChatClient`."""

from __future__ import annotations

from assistant.client import ChatClient
from assistant.core.values.events import TextMessageContent
from assistant.providers import OpenAIModel
from benchmarks.catalogue.tools import add
from benchmarks.contestants.worker import Ask, run


def make(url: str) -> Ask:
    client = ChatClient(model=OpenAIModel("m", base_url=url, api_key="k"), system="Be brief.", tools=[add])

    async def ask(prompt: str) -> str:
        return "".join([event.delta async for event in client.stream(prompt) if isinstance(event, TextMessageContent)])

    return ask


if __name__ == "__main__":
    run(make)
