"""What a kind of provider takes and gives beyond what the wire format says."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from assistant.core.values.messages import ToolCall

# Characters of a call id that OpenAI accepts.
MAX_ID = 40
_NOTHING: Mapping[str, Any] = MappingProxyType({})

# Makes the id under which a call is sent. The number is 0 first, and another one for as long as the id is not unique.
CallId = Callable[[ToolCall, int], str]


def own_id(call: ToolCall, number: int) -> str:
    """Return a call's id as it is, or a hash of it if it has more than `MAX_ID` characters or is not unique."""
    return call.id if len(call.id) <= MAX_ID and not number else "call_" + _hash(call, number)[:32]


def plain_id(call: ToolCall, number: int) -> str:
    """Return a call's id if it has only letters, digits, underscores and hyphens, else a hash of it."""
    is_plain = re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", call.id) and not number
    return call.id if is_plain else "call_" + _hash(call, number)[:32]


def nine_characters(call: ToolCall, number: int) -> str:
    """Return nine letters and digits."""
    return call.id if re.fullmatch(r"[a-zA-Z0-9]{9}", call.id) and not number else _hash(call, number)[:9]


def _hash(call: ToolCall, number: int) -> str:
    return hashlib.sha256(f"{call.id}{number or ''}".encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Profile:
    """What a kind of provider takes and gives. The defaults are what OpenAI does.

    Attributes:
        kind: its name. What a provider gave goes back only to the same kind.
        system_role: the role of the system prompt.
        content: whether texts are sent as parts, or files cannot be sent because only texts are taken.
        pdf_part: the part as which a PDF is sent.
        empty_content: the content of a message that has only calls.
        blank: sent in place of a text without a visible character, where such a text is refused.
        call_id: makes the id of a call that the provider did not make itself.
        alternates: whether two messages of the user must not follow each other, so that they are joined.
        answers_results: whether a message of the user must not follow the results of tools, so that a message of the
            assistant is put between them.
        takes_reasoning: whether the reasoning that led to calls is sent back with these.
        needs_reasoning: whether calls without reasoning are refused, so that they get a space instead.
        call_extra: what the first call of a message is sent with if the provider gave nothing with its calls.
        renamed: other names of options.
        omitted: options that are refused.
        defaults: options that are sent unless others are set.
        begins_thinking: whether the model's template opens the reasoning itself: an answer of a server that does not
            separate it begins with reasoning, and has only `</think>`.
    """

    kind: str
    system_role: Literal["system", "developer"] = "system"
    content: Literal["any", "text", "parts"] = "any"
    pdf_part: Literal["file", "document_url"] = "file"
    empty_content: str | None = None
    blank: str = ""
    call_id: CallId = own_id
    alternates: bool = False
    answers_results: bool = False
    takes_reasoning: bool = True
    needs_reasoning: bool = False
    call_extra: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    renamed: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    omitted: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    begins_thinking: bool = False


# Models whose templates end with `<think>`.
_BEGINS_THINKING = re.compile(r"qwq|qwen[\w.-]*thinking|(.*-)?deepseek-r1|(.*-)?r1-(distill|0528)|.*-thinking")


def begins_thinking(model: str) -> bool:
    """Return whether a model's template opens its reasoning, by the model's name."""
    return _BEGINS_THINKING.match(family(model)) is not None


# Models that take no images, where other models of the same provider do; their servers refuse requests with images.
_SEES_NOTHING = re.compile(
    r"gpt-3\.5|gpt-4(-0314|-0613|-32k)?$|o1-(mini|preview)|o3-mini|gpt-oss|codestral|devstral|ministral-8b|open-mi[sx]tral"
    r"|mistral-(7b|nemo|tiny)|mixtral|llama-?3(\.[13])?[-:]|deepseek(?!-(vl|ocr))|qwq|qwen[\d.]*-(coder|math)|kimi-k2-|claude-(2|instant)"
)


def sees_nothing(model: str) -> bool:
    """Return whether a model is known, by its name, not to see images."""
    return _SEES_NOTHING.match(family(model)) is not None


def family(model: str) -> str:
    """Return a model's name in lower case, without the owner that gateways and hubs put before it."""
    return model.rpartition("/")[2].lower()
