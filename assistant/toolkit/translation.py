"""Translates sentences for people in a way that the application sets: the toolkit and the core work without Django."""

from __future__ import annotations

from collections.abc import Callable


def _english(one: str, other: str, count: int) -> str:
    return one if count == 1 else other


_one: Callable[[str], str] = str
_many: Callable[[str, str, int], str] = _english


def translate_with(one: Callable[[str], str], many: Callable[[str, str, int], str]) -> None:
    """Translate from now on with functions that work like `gettext` and `ngettext`."""
    global _one, _many
    _one, _many = one, many


def gettext(message: str) -> str:
    """Return a message in the language of the person who is being answered; in English if nothing translates."""
    return _one(message)


def ngettext(singular: str, plural: str, number: int) -> str:
    """Return the form of a message for a number, like `gettext`."""
    return _many(singular, plural, number)


def gettext_noop(message: str) -> str:
    """Return the message as it is; it will be translated where it is shown."""
    return message


OUR_SIDE = gettext_noop("Something went wrong on our side.")


def with_error_id(sentence: str, error_id: str) -> str:
    """Return a translated sentence with the id under which the log has the error."""
    bare = sentence.removesuffix(".").removesuffix("。")
    return gettext("%(sentence)s (error %(error)s).") % {"sentence": bare, "error": error_id}
