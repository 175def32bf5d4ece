"""Answers that results already hold: they are shown as they are, since a small model adds up and translates badly.

A result is an answer if it is a JSON object that begins with `summary`, a whole sentence; a list of rows beside it
becomes a table. Passages of documents (`results` with `number` and `text`) are quoted if they are in another language
than the question, and where no document says anything the answer is just that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from assistant.core.values.messages import Message

MAX_ROWS = 20
MAX_QUOTED = 600
# Of a question's words, the part that passages in its language have at least: words such as "the" are among them.
MIN_SHARED = 0.2
# How the note of a search begins that found nothing, or nothing that surely answers.
NOTHING, WEAK = "No document", "Weak evidence"
NOT_SURE = "I do not know whether one of these passages answers it:"
NOT_TRANSLATED = "I cannot say this in words of my own. These passages fit best:"
_WORDS = re.compile(r"[^\W\d_]+")
_MARKS = str.maketrans({"|": "\\|", "\n": " ", "\r": " "})


def ready_answer(messages: Sequence[Message]) -> str:
    """Return the answer that the results at the end of a conversation hold; empty unless each of them holds one."""
    results = list(takewhile(lambda message: message.role == "tool", reversed(messages)))
    question = next((message.content for message in reversed(messages) if message.role == "user"), "")
    answers = [_answer_of(message.content, question) for message in reversed(results)]
    return "\n\n".join(answers) if all(answers) else ""


def _answer_of(content: str, question: str) -> str:
    try:
        result = json.loads(content)
    except ValueError:
        return ""
    if not isinstance(result, dict) or not result:
        return ""
    if _is_sentence(result.get("summary")) and next(iter(result)) == "summary":
        return "\n\n".join([result["summary"], *(_table(value) for value in result.values() if _is_table(value))])
    return _quoted(result.get("results"), str(result.get("note", "")), question)


def _is_sentence(value: Any) -> bool:
    return isinstance(value, str) and value.endswith((".", "!", "?", "。", "؟"))


def _is_table(value: Any) -> bool:
    """Whether it is a list of at least two rows with the same plain fields."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(row, dict) and row for row in value):
        return False
    plain = all(not isinstance(cell, dict | list) for row in value for cell in row.values())
    return plain and all(row.keys() == value[0].keys() for row in value)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    heads = [name.replace("_", " ").capitalize() for name in rows[0]]
    cells = [["" if cell is None else str(cell) for cell in row.values()] for row in rows[:MAX_ROWS]]
    lines = [heads, ["---"] * len(heads), *cells]
    return "\n".join(f"| {' | '.join(cell.translate(_MARKS) for cell in line)} |" for line in lines)


def _quoted(passages: Any, note: str, question: str) -> str:
    """Return passages as quotations with their numbers; empty if they are none, or in the question's language.

    Where nothing was found, the note's first sentence says so.
    """
    if not isinstance(passages, list) or not all(map(_is_passage, passages)):
        return ""
    if not passages:
        return note.partition(". ")[0] + "." if note.startswith(NOTHING) else ""
    asked = set(_WORDS.findall(question.lower()))
    texts = (f"{passage.get('source')} {passage.get('heading')} {passage['text']}" for passage in passages)
    written = set(_WORDS.findall(" ".join(texts).lower()))
    if len(asked & written) >= MIN_SHARED * len(asked):
        return ""
    lead = NOT_SURE if note.startswith(WEAK) else NOT_TRANSLATED
    return "\n\n".join([lead, *(_quotation(passage) for passage in passages)])


def _is_passage(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("text"), str) and isinstance(value.get("number"), str)


def _quotation(passage: Mapping[str, Any]) -> str:
    text = passage["text"] if len(passage["text"]) <= MAX_QUOTED else f"{passage['text'][:MAX_QUOTED]} …"
    heading = f"**{passage['heading']}**: " if passage.get("heading") else ""
    return "\n".join(f"> {line}" for line in f"{heading}{text} [{passage['number']}]".splitlines())
