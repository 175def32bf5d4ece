"""Cleans and checks what models are made with: addresses, keys and names, from arguments or the environment."""

from __future__ import annotations

import os
import re
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from assistant.toolkit.text import odd_character, stripped
from assistant.toolkit.translation import gettext

# What an HTTP header cannot have, and spaces, which keys do not have.
_NOT_IN_KEYS = re.compile(r"[^!-~]")
_NOT_IN_ADDRESSES = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Paths of requests, which people copy with the address.
_REQUESTS = ("/chat/completions", "/responses", "/messages")


class InvalidSetting(ValueError):
    """No model can be made with a value; the message names the setting and what is wrong, without the value."""


class Address(NamedTuple):
    """The address of a provider: what paths are appended to, and the query that each request has."""

    base: str
    query: dict[str, str]


def given(argument: str | None, name: str, *variables: str) -> tuple[str, str]:
    """Return a cleaned value, and the name of the setting that it is from.

    Args:
        argument: what was passed as `name`; None for the first of the environment's `variables` that is set.
    """
    if argument is not None:
        return stripped(argument), name
    found = ((stripped(os.environ.get(variable, "")), variable) for variable in variables)
    return next((one for one in found if one[0]), ("", name))


def key_of(argument: str | None, name: str, *variables: str) -> str:
    """Return a key, "" for none. Raises `InvalidSetting` if it cannot be sent."""
    key, setting = given(argument, name, *variables)
    if odd := odd_character(key, _NOT_IN_KEYS):
        raise InvalidSetting(_cannot_be_sent(setting, odd))
    return key


def name_of(argument: str | None, name: str, *variables: str) -> str:
    """Return a model's name, "" for none. Raises `InvalidSetting` if it is none."""
    model, setting = given(argument, name, *variables)
    if odd := odd_character(model, _NOT_IN_NAMES):
        raise InvalidSetting(_cannot_be_sent(setting, odd))
    return model


def address_of(argument: str | None, name: str, *variables: str) -> str:
    """Return an address without what follows it in requests, "" for none. Raises `InvalidSetting` if it is none."""
    url, setting = given(argument, name, *variables)
    if not url:
        return ""
    if odd := odd_character(url, _NOT_IN_ADDRESSES):
        raise InvalidSetting(_cannot_be_sent(setting, odd))
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        sentence = gettext("%(setting)s is no address: it must be like https://api.example.com/v1.")
        raise InvalidSetting(sentence % {"setting": setting})
    whole = parts.path.rstrip("/")
    path = next((whole.removesuffix(one) for one in _REQUESTS if whole.endswith(one)), parts.path)
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _cannot_be_sent(setting: str, odd: str) -> str:
    return gettext("%(setting)s cannot be sent: it has %(odd)s.") % {"setting": setting, "odd": odd}


def split_query(address: str) -> Address:
    """Return an address as what paths are appended to, and the query of each request, such as Azure's `api-version`."""
    parts = urlsplit(address)
    return Address(
        urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")),
        dict(parse_qsl(parts.query, keep_blank_values=True)),
    )
