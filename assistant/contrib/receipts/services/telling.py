"""Tells of a receipt outside the chat: as annotations of links and documents, and as a line of an export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext

from assistant.services.conversations.added_details import Annotation
from assistant.services.text import isolated, listed

# Values that one line of an export names.
MAX_NAMED = 20


def annotations_of(receipt: Mapping[str, Any]) -> list[Annotation]:
    """Return for each value the first of its sources that has an address or is a passage, if there is one."""
    found = (_annotation(mark) for mark in receipt["marks"])
    return [one for one in found if one is not None]


def note_of(receipt: Mapping[str, Any]) -> str:
    """Return what no source supports, and where the other values of an answer come from; "" if it has none."""
    if "notChecked" in receipt:
        return gettext("It was not checked where this answer's values come from.")
    marks = receipt["marks"]
    places = dict.fromkeys(place for mark in marks if mark["sources"] and (place := _place(mark["sources"][0])))
    lines = [
        (gettext("Looked up in: %(places)s."), "places", places),
        (
            gettext("Not found in what was looked up: %(values)s."),
            "values",
            _unsupported(marks),
        ),
        (gettext("Cited, though no such passage was given: %(numbers)s."), "numbers", _unoffered(marks)),
        (
            gettext("Claimed, and done by no tool: %(actions)s."),
            "actions",
            dict.fromkeys(action["text"] for action in receipt["actions"] if "tool" not in action),
        ),
    ]
    return " ".join(sentence % {name: listed(list(named)[:MAX_NAMED])} for sentence, name, named in lines if named)


def left_out_of(receipt: Mapping[str, Any]) -> list[str]:
    """Return which values of an answer no source has, and which actions that it claims no call has done."""
    if "notChecked" in receipt:
        return [gettext("it was not checked where its values come from")]
    actions = dict.fromkeys(action["text"] for action in receipt["actions"] if "tool" not in action)
    parts = [
        (gettext("not found in what was looked up: %(values)s"), "values", _unsupported(receipt["marks"])),
        (gettext("cited, though no such passage was given: %(numbers)s"), "numbers", _unoffered(receipt["marks"])),
        (gettext("claimed, and done by no tool: %(actions)s"), "actions", actions),
    ]
    return [part % {name: listed(map(isolated, list(named)[:MAX_NAMED]))} for part, name, named in parts if named]


def _unsupported(marks: Sequence[Mapping[str, Any]]) -> dict[str, None]:
    return dict.fromkeys(mark["text"] for mark in marks if "reason" in mark and mark["kind"] != "citation")


def _unoffered(marks: Sequence[Mapping[str, Any]]) -> dict[str, None]:
    return dict.fromkeys(f"[{number}]" for mark in marks for number in mark.get("numbers", ()))


def _annotation(mark: Mapping[str, Any]) -> Annotation | None:
    for source in mark["sources"]:
        url = str(source.get("url") or "")
        if urlsplit(url).scheme in ("http", "https"):
            return Annotation(
                mark["start"], mark["end"], source["tool"] if "tool" in source else source["title"], url=url
            )
        if "id" in source and source["kind"] == "passage":
            return Annotation(mark["start"], mark["end"], source["title"], document=source["id"])
    return None


def _place(source: Mapping[str, Any]) -> str:
    match source["kind"]:
        case "tool":
            return f"`{source['tool']}`" if "tool" in source else str(source["title"])
        case "passage":
            return str(source.get("title", ""))
        case "message":
            return gettext("your message")
        case _:
            return ""
