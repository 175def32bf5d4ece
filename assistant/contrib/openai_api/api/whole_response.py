"""Yields a response that is complete already as the events of a stream."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from assistant.contrib.openai_api.services.responses.output_items import text_part


def events_of(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a whole response, each item with its text in one piece."""
    numbers = itertools.count()

    def event(kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": kind, "sequence_number": next(numbers), **fields}

    begun = {**body, "status": "in_progress", "output": [], "usage": None, "completed_at": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(body["output"]):
        where = {"item_id": item["id"], "output_index": index}
        started = {**item, "status": "in_progress"}
        match item["type"]:
            case "message":
                (part,) = item["content"]
                yield event("response.output_item.added", output_index=index, item={**started, "content": []})
                at = {**where, "content_index": 0}
                yield event("response.content_part.added", **at, part=text_part(""))
                yield event("response.output_text.delta", **at, delta=part["text"], logprobs=[])
                yield event("response.output_text.done", **at, text=part["text"], logprobs=[])
                for number, annotation in enumerate(part["annotations"]):
                    named = {"annotation_index": number, "annotation": annotation}
                    yield event("response.output_text.annotation.added", **at, **named)
                yield event("response.content_part.done", **at, part=part)
            case "function_call":
                yield event("response.output_item.added", output_index=index, item={**started, "arguments": ""})
                arguments = item["arguments"]
                yield event("response.function_call_arguments.delta", **where, delta=arguments)
                done = {"name": item["name"], "arguments": arguments}
                yield event("response.function_call_arguments.done", **where, **done)
            case _:
                yield event("response.output_item.added", output_index=index, item=item)
        yield event("response.output_item.done", output_index=index, item=item)
    kind = "completed" if body["status"] == "completed" else "incomplete"
    yield event(f"response.{kind}", response=dict(body))
