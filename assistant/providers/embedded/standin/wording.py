"""The stand-in's answers: tool results as sentences, and small talk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assistant.providers.embedded.standin.rules import MAX_QUESTION_CHARACTERS, Done
from assistant.toolkit.bounded_json import load_json

_MAX_ENTRIES = 8
_GREETING = re.compile(r"\b(hi|hello|hey|good (morning|evening|afternoon))\b", re.IGNORECASE)
_THANKS = re.compile(r"\b(thanks|thank you|cheers)\b", re.IGNORECASE)
_HINT = (
    "To use other tools, set OPENAI_API_KEY (for another server OPENAI_BASE_URL and OPENAI_MODEL too) and start again, "
    "or add a provider in the admin."
)
_BY_NAME = 'Any other tool runs by its name and arguments, as in `count_seats {"team": "sales"}`.'
_ABILITIES = {
    "current_time": "what time is it",
    "get_customer": "tell me about customer 42",
    "calculate": "what is 12.5% of 840",
    "search_docs": "how do I get a refund",
    "set_alarm": "set an alarm in ten minutes",
    "find_orders": "show me the open orders",
}


def small_talk(question: str, tools: Sequence[str]) -> str:
    """Return the answer to a message that needs no tool: it explains the stand-in and suggests questions."""
    question = question[:MAX_QUESTION_CHARACTERS]
    opening = "I am a scripted stand-in, not a language model: "
    if _THANKS.search(question):
        return "You're welcome!"
    if _GREETING.search(question):
        opening = f"Hello! {opening}"
    asks = [f"- {sentence}" for tool, sentence in _ABILITIES.items() if tool in tools]
    if not asks:
        return f"{opening}I know the demo's tools only, and none of them is on here. {_BY_NAME} {_HINT}"
    return "\n".join([f"{opening}I choose among the tools here by plain rules. Try:", "", *asks, "", _BY_NAME])


def answer(question: str, done: Done) -> str:
    """Return the answer that the last tool result gives."""
    call, result = done[-1]
    try:
        value = load_json(result)
    except ValueError:
        return result
    match call.tool:
        case "current_time":
            return f"It is **{value['human']}** ({value['timezone']})."
        case "calculate":
            about = "" if value.get("exact", True) else "about "
            return f"{value['expression']} is {about}**{value['result']}**."
        case "set_alarm":
            return f"The alarm is set for **{value['human']}**."
        case "search_docs":
            return _quoted(value)
    return "\n".join(_lines(value)) or "Nothing was found."


def _quoted(value: Mapping[str, Any]) -> str:
    if not value["results"]:
        return str(value["note"])
    best = value["results"][0]
    quote = "\n".join(f"> {line}" for line in str(best["text"]).splitlines())
    number = f" [{best['number']}]" if best.get("number") else ""
    return f"{quote}\n\n(Source: {best['source']}{number})"


def _lines(value: Any, indent: str = "") -> Iterator[str]:
    """Yield a JSON value as a Markdown list."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            label = str(name).replace("_", " ")
            if isinstance(inner, Mapping | list):
                yield f"{indent}- {label}:"
                yield from _lines(inner, indent + "  ")
            elif inner not in (None, ""):
                yield f"{indent}- {label}: {inner}"
    elif isinstance(value, list):
        for inner in value[:_MAX_ENTRIES]:
            if isinstance(inner, Mapping):
                yield f"{indent}- " + ", ".join(str(part) for part in inner.values() if part not in (None, "", []))
            else:
                yield f"{indent}- {inner}"
        if len(value) > _MAX_ENTRIES:
            yield f"{indent}- and {len(value) - _MAX_ENTRIES} more"
    else:
        yield f"{indent}{value}"
