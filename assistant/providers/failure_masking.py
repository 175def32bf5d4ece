"""Takes keys and texts of the request out of what a provider says about a failure.

Servers repeat keys, and parts of prompts, in their errors. Operators and developers read the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from assistant.core.llm.protocol import FailureDetails, ModelRequest
from assistant.toolkit.text import clean_text

MASK = "…"
MAX_MESSAGE, MAX_CODE, MAX_REQUEST_ID = 500, 100, 128
# Characters of a message that are looked at.
MAX_SEARCHED = 2_000
# Text with at least this many letters and digits that is in the request too counts as repeated from it.
REPEATED_LETTERS = 12
# The same for text that is not ASCII: a Chinese sentence has few characters.
REPEATED_CHARACTERS = 5
# Shorter messages, such as "yes", are not searched for.
MIN_WHOLE_TEXT = 4
_KEYS = re.compile(
    r"\b(?:sk|pk|rk|gsk|key|xai|hf|nvapi)[-_][\w*.-]{6,}"
    r"|\b(?:AIza|eyJ)[\w*.-]{8,}"
    r"|\b(?:Bearer|Basic)\s+[\w*.+/=~-]{6,}"
    r"|//[^/\s:@]*:[^/\s@]+@"
    r"|(?<=[?&])[\w-]*(?:key|token|secret|signature)=[^&\s\"']+"
    r"|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{28,}",
)
# What follows the words "key", "token" and so on: "Incorrect API key provided: abc".
_NAMED_KEYS = re.compile(
    r"(?i)\b((?:api[ _-]?key|access[ _-]?token|token|secret|password|authorization)\b[^\w\s]*(?:\s+provided|\s+is)?"
    r"\s*[:=]\s*[\"']?)(?=\S*[\d*])[^\s\"',;]{4,}"
)
_NO_LETTERS = re.compile(r"[\W_]+")
_ESCAPES = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[nrt])")


def masked(details: FailureDetails, request: ModelRequest, *, keys: Iterable[str] = ()) -> FailureDetails:
    """Return the details as they may be kept: on one line, shortened, without keys and without text of the request.

    Args:
        keys: that the request was made with.
    """
    given = [key for key in keys if key]
    return replace(
        details,
        code=without_keys(details.code, given)[:MAX_CODE],
        message=_shortened(_without_request(without_keys(_one_line(details.message), given), request)),
        request_id=re.sub(r"[^\w.:-]", "", _without_given(details.request_id, given))[:MAX_REQUEST_ID],
    )


def _one_line(text: str) -> str:
    text = _ESCAPES.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", text[:MAX_SEARCHED])
    return "".join(character for character in " ".join(clean_text(text).split()) if character.isprintable())


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"


def without_keys(text: str, keys: Sequence[str]) -> str:
    """Return a text without these keys, and without anything that looks like one."""
    return _KEYS.sub(MASK, _NAMED_KEYS.sub(rf"\1{MASK}", _without_given(text, keys)))


def _without_given(text: str, keys: Sequence[str]) -> str:
    for key in keys:
        text = text.replace(key, MASK)
    return text


def _without_request(text: str, request: ModelRequest) -> str:
    """Return a provider's sentence without what it repeats from the messages of a request; names of tools stay."""
    squashed, places = _squash(text)
    if not squashed:
        return text
    texts = [_squash_text(one) for one in _texts(request)]
    sent = "\x00".join(texts)
    names = {_squash_text(tool.name) for tool in request.tools}
    hidden = [run for run in _repeated_runs(squashed, sent) if squashed[slice(*run)] not in names]
    for whole in {one for one in texts if MIN_WHOLE_TEXT <= len(one) <= len(squashed)} - names:
        start = squashed.find(whole)
        while start >= 0:
            hidden.append((start, start + len(whole)))
            start = squashed.find(whole, start + 1)
    for start, end in sorted(_joined(hidden), reverse=True):
        text = text[: places[start]] + MASK + text[places[end - 1] + 1 :]
    return text


def _texts(request: ModelRequest) -> Iterator[str]:
    for message in request.messages:
        yield message.content
        for call in message.tool_calls:
            yield call.arguments


def _squash_text(text: str) -> str:
    """Return the letters and digits of a text: servers change spaces, quotes and case in what they repeat."""
    return _NO_LETTERS.sub("", text.lower())


def _squash(text: str) -> tuple[str, list[int]]:
    """Return the same with the position of each character in the text."""
    found = [(small, index) for index, character in enumerate(text) for small in _squash_text(character)]
    return "".join(small for small, _ in found), [index for _, index in found]


def _repeated_runs(said: str, sent: str) -> Iterator[tuple[int, int]]:
    """Yield where a squashed sentence repeats the squashed texts, as pairs of start and end."""
    least = REPEATED_LETTERS if said.isascii() else REPEATED_CHARACTERS
    step = (least + 1) // 2  # a run of `least` characters contains one of the windows whole
    done, backwards = 0, sent[::-1]
    for start in range(0, len(said) - step + 1, step):
        if start < done or said[start : start + step] not in sent:
            continue
        end = start + _longest(said[start:], sent, step)
        begin = end - _longest(said[:end][::-1], backwards, end - start)
        run = said[begin:end]
        if end - begin >= (REPEATED_LETTERS if run.isascii() else REPEATED_CHARACTERS):
            done = end
            yield begin, end


def _longest(said: str, sent: str, known: int) -> int:
    """Return the length of the longest beginning of `said` that is in `sent`; one of `known` characters is."""
    most = len(said)
    while known < most:
        middle = (known + most + 1) // 2
        if said[:middle] in sent:
            known = middle
        else:
            most = middle - 1
    return known


def _joined(runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(runs):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
