"""Finds the passages that an answer names by the numbers under which the model was given them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.core.values.citations import Citation
from assistant.core.values.messages import Message
from assistant.services.knowledge.passages import Piece

# What the model is asked, where it is given passages.
INSTRUCTION = "Put the number of a passage in brackets, such as [%s], behind what you take from it."
# Limits of one answer: passages returned, characters of each, and characters in which numbers are looked for.
MAX_PASSAGES, MAX_SHOWN, MAX_ANSWER = 8, 2_000, 200_000
# Limits of what is looked for: characters of a tool's result, and of each field of its passages.
MAX_RESULT, MAX_FIELD = 200_000, 300

_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
# [3], [3, 7.2] and [3][4], but no link.
_MARK = re.compile(rf"\[({_NUMBER}(?:[,;] ?{_NUMBER}){{0,9}})\](?!\()")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)[^`]+\1")
_OWN_NUMBER = re.compile(r"\[(\d{1,4})\]")


@dataclass(frozen=True, slots=True)
class GivenDocument:
    """What a model was given of an attached document.

    Attributes:
        pieces: its passages, in the order of the document.
        first: the number of the first of them; the others count on.
        is_whole: whether they are the whole document.
    """

    id: str
    name: str
    pieces: Sequence[Piece] = field(default=(), repr=False)
    first: int = 1
    is_whole: bool = False

    def numbered(self) -> Iterator[tuple[int, Piece]]:
        return enumerate(self.pieces, start=self.first)


def first_number(documents: Iterable[GivenDocument]) -> int:
    """Return the first number that stands in no brackets in these documents, as references of a paper do."""
    own = (
        int(number) for document in documents for piece in document.pieces for number in _OWN_NUMBER.findall(piece.text)
    )
    return max(own, default=0) + 1


def cited_passages(
    documents: Iterable[GivenDocument],
    messages: Iterable[Message],
    answer: str,
    citations: Iterable[Citation] = (),
) -> list[dict[str, Any]]:
    """Return the passages whose numbers an answer names, in its order; numbers that were not given are passed over.

    Those that its provider names follow, under numbers that the answer does not have.

    Args:
        documents: the attached documents that the model was given.
        messages: the messages that it was given or has made, with results of tools. Passages are counted in results
            like those of `search_docs`: `results` with `number`, `source_id`, `source`, `text`, `heading` and `page`.
        citations: what the provider says that the answer was taken from.
    """
    numbers = list(dict.fromkeys(_named(answer[:MAX_ANSWER])))
    named: list[dict[str, Any]] = []
    if numbers:
        given = {**_found(messages), **{str(number): one for number, one in _attached(documents, set(numbers))}}
        named = [given[number] for number in numbers if number in given]
    first = max((int(number.partition(".")[0]) for number in numbers), default=0) + 1
    native = [
        _described(
            number=str(number), source_id=one.source_id, source=one.source, heading="", page=one.page, text=one.text
        )
        for number, one in enumerate(dict.fromkeys(citations), start=first)
    ]
    return [*named, *native][:MAX_PASSAGES]


def _named(answer: str) -> Iterator[str]:
    """Yield the numbers in brackets outside of code."""
    fence = ""
    for line in answer.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence:
            for marked in _MARK.finditer(_CODE.sub("", line)):
                yield from re.findall(_NUMBER, marked[1])


def _attached(documents: Iterable[GivenDocument], numbers: set[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for document in documents:
        for number, piece in document.numbered():
            if str(number) in numbers:
                yield (
                    number,
                    _described(
                        number=str(number),
                        source_id=f"file-{document.id}.{number - document.first + 1}",
                        source=document.name,
                        heading=piece.heading,
                        page=piece.page,
                        text=piece.text.strip(),
                    ),
                )


def _found(messages: Iterable[Message]) -> dict[str, dict[str, Any]]:
    """Return the passages in results of tools, by their numbers; the newest of a number."""
    return {
        one["number"]: one
        for message in messages
        if message.role == "tool"
        for one in passages_in_result(message.content)
    }


def passages_in_result(content: str) -> list[dict[str, Any]]:
    """Return the passages in the result of a tool that is like those of `search_docs`; none of another."""
    if '"number"' not in content[:MAX_RESULT]:
        return []
    try:
        results = json.loads(content)["results"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    found = []
    for one in results if isinstance(results, list) else ():
        if _is_passage(one):
            page = one.get("page")
            fields = {name: one.get(name) or "" for name in ("number", "source_id", "source", "heading", "text")}
            found.append(_described(page=page if isinstance(page, int) else None, **fields))
    return found


def _is_passage(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    texts = [value.get(name) for name in ("number", "source_id", "source", "text")]
    return all(isinstance(text, str) and text for text in texts) and isinstance(value.get("heading", ""), str | None)


def _described(
    *, number: str, source_id: str, source: str, heading: str, page: int | None, text: str
) -> dict[str, Any]:
    return {
        "number": number,
        "source_id": source_id[:MAX_FIELD],
        "source": source[:MAX_FIELD],
        "heading": heading[:MAX_FIELD],
        "page": page,
        "text": text[:MAX_SHOWN],
    }
