"""What an empty conversation with an assistant begins with, in the reader's language: greeting and starters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import get_language

from assistant.models import Assistant
from assistant.services.assistants.configuration import MAX_STARTERS

MAX_GREETING = 200
MAX_STARTER = 500
MAX_NOTICE = 300
# Languages of one assistant, and characters of a language's code.
MAX_LANGUAGES, MAX_CODE = 30, 20


@dataclass(frozen=True, slots=True)
class Welcome:
    """A greeting and a notice that an AI answers, "" for the tenant's or ours; and up to `MAX_STARTERS` starters."""

    greeting: str
    starters: tuple[str, ...]
    notice: str


def welcome_of(assistant: Assistant, language: str | None = None) -> Welcome:
    """Return an assistant's welcome in a language, by default the active one; else the default."""
    own = _translation(assistant, language or get_language() or "")
    starters = own.get("starters") or assistant.starters
    texts = [text for text in starters if isinstance(text, str)]
    return Welcome(own.get("greeting") or assistant.greeting, tuple(texts[:MAX_STARTERS]), own.get("notice", ""))


def greetings_of(assistant: Assistant) -> dict[str, str]:
    """Return an assistant's greetings by language, the default under `default`; without those that are empty."""
    return _by_language(assistant, "greeting", assistant.greeting)


def starters_of(assistant: Assistant) -> dict[str, list[str]]:
    """Return an assistant's starter prompts by language, as `greetings_of` does."""
    return _by_language(assistant, "starters", assistant.starters)


def notices_of(assistant: Assistant) -> dict[str, str]:
    """Return the notices that an AI answers by language, without those that are empty."""
    return _by_language(assistant, "notice", "")


def _by_language(assistant: Assistant, name: str, default: Any) -> dict[str, Any]:
    found = {"default": default} | {code: one.get(name) for code, one in assistant.translations.items()}
    return {code: value for code, value in found.items() if value}


def _translation(assistant: Assistant, language: str) -> dict[str, Any]:
    """Return the texts in a language; those in "pt" for "pt-br"."""
    part = language.lower()
    while part and part not in assistant.translations:
        part = part.rpartition("-")[0]
    found = assistant.translations.get(part, {})
    return found if isinstance(found, dict) else {}


def read_translations(given: Any) -> dict[str, Any]:
    """Return translations of a welcome as they are stored, as `{"de": {"greeting": "…", "notice": "…"}}`.

    Raises:
        ValueError: they have another form, or are too many or too long; the message says which.
    """
    if not isinstance(given, dict) or len(given) > MAX_LANGUAGES:
        raise ValueError(f"translations must be an object with at most {MAX_LANGUAGES} languages")
    return {_code(code): _texts(code, texts) for code, texts in given.items() if texts}


def _code(code: Any) -> str:
    if not isinstance(code, str) or not code.replace("-", "").isalnum() or len(code) > MAX_CODE:
        raise ValueError(f"{str(code)[:MAX_CODE]!r} is not the code of a language")
    return code.lower()


def _texts(code: str, texts: Any) -> dict[str, Any]:
    if not isinstance(texts, dict) or texts.keys() - {"greeting", "starters", "notice"}:
        raise ValueError(f"{code} must be an object with greeting, starters and notice")
    greeting, starters = texts.get("greeting", ""), texts.get("starters", [])
    notice = texts.get("notice", "")
    if not isinstance(notice, str) or len(notice) > MAX_NOTICE:
        raise ValueError(f"{code}: notice must be a text of at most {MAX_NOTICE} characters")
    if not isinstance(greeting, str) or len(greeting) > MAX_GREETING:
        raise ValueError(f"{code}: greeting must be a text of at most {MAX_GREETING} characters")
    is_list = isinstance(starters, list) and len(starters) <= MAX_STARTERS
    if not is_list or not all(isinstance(one, str) and len(one) <= MAX_STARTER for one in starters):
        raise ValueError(f"{code}: starters must be at most {MAX_STARTERS} texts")
    return {
        name: value for name, value in (("greeting", greeting), ("starters", starters), ("notice", notice)) if value
    }
