"""What readers get of a receipt who do not own its conversation, and visitors: marks, and no way to a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Of what is not shown, because it may not be seen now.
WITHHELD = {"kind": "withheld"}


def titled(source: dict[str, Any], titles: Mapping[str, str]) -> dict[str, Any]:
    """Return a source, a tool with its title for people, if it is among `titles`: those that the reader may use."""
    title = titles.get(source["tool"]) if source["kind"] == "tool" else None
    return source if title is None else {**source, "title": title}


def for_visitors(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """Return of a receipt what a visitor may see: the answer's own text, kinds of sources, and titles of tools.

    No address, field, passage or call; of actions those that no call has done.
    """
    marks = [{**mark, "sources": _distinct([_bare(source) for source in mark["sources"]])} for mark in receipt["marks"]]
    actions = [action for action in receipt["actions"] if "tool" not in action]
    shown = {"messageId": receipt["messageId"], "marks": marks, "actions": actions}
    return {**shown, "notChecked": True} if "notChecked" in receipt else shown


def for_readers_of_a_link(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """Return of a receipt what others may see in a shared conversation: the same, and no message is theirs."""
    bare = for_visitors(receipt)
    marks = [
        {**mark, "sources": [{"kind": "question"} if one["kind"] == "message" else one for one in mark["sources"]]}
        for mark in bare["marks"]
    ]
    return {**bare, "marks": marks}


def _bare(source: Mapping[str, Any]) -> dict[str, Any]:
    match source["kind"]:
        case "tool":
            return {"kind": "tool", "title": source["title"]} if "title" in source else WITHHELD
        case "passage" | "message" | "page" | "clock" as kind:
            return {"kind": kind}
        case _:
            return WITHHELD


def _distinct(sources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [source for place, source in enumerate(sources) if source not in sources[:place]]
