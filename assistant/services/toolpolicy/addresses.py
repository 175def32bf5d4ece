"""Finds destinations in free text: e-mail addresses, URLs, hosts and account numbers."""

from __future__ import annotations

import re
import unicodedata

# Where a text is divided. Not at characters that addresses contain: a part left out could carry something away.
_SPLIT = re.compile(r"[\s<>\"“”«»`|]+|\]\(")
_EDGES = "()[]{}'‘’.,:;!?*_~…"
_SCHEMES = ("mailto:", "tel:", "sms:", "sip:", "bitcoin:", "javascript:", "data:")
_IBAN = re.compile(r"[A-Za-z]{2}\d{2}[A-Za-z0-9]{8,30}")
_GROUPED_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?(?!\w)")
# Numbers of accounts, cards and telephones; the separators of their groups may differ.
_NUMBER = re.compile(r"(?<!\w)\+?\d(?:[ .\-/()]{0,2}\d){8,40}")
_DATE = re.compile(r"(?<!\d)(?:(?:19|20)\d\d-(?:0\d|1[0-2])-[0-3]\d|[0-3]?\d[./][0-3]?\d[./](?:19|20)?\d\d)(?!\d)")
# Browsers read the ideographic full stop as a dot; in a sentence no Latin letter follows it.
_IDEOGRAPHIC_DOT = re.compile(r"(?<=[A-Za-z0-9])[。｡](?=[A-Za-z0-9])")
# A word with at least this many letters and digits without a separator counts as a key or the address of a wallet.
_KEY_CHARACTERS = 20


def addresses_in(text: str) -> list[str]:
    """Return the different addresses and account numbers in a text, in linear time.

    Everything that looks like an address counts as one, even the name of a file: a false match costs a question to the
    user, a missed one lets an address through. Addresses that only people can read, such as "example dot com", are not
    found.
    """
    dotted = _IDEOGRAPHIC_DOT.sub(".", text)
    shown = "".join(one for one in unicodedata.normalize("NFKC", dotted) if unicodedata.category(one) != "Cf")
    words = (word.strip(_EDGES) for word in _SPLIT.split(shown))
    found = dict.fromkeys(word for word in words if word and _is_address(word))
    found.update(dict.fromkeys(match[0] for match in _GROUPED_IBAN.finditer(shown)))
    found.update(dict.fromkeys(match[0].strip(_EDGES) for match in _NUMBER.finditer(_DATE.sub(" x ", shown))))
    return list(found)


def _is_address(word: str) -> bool:
    if "//" in word or word.lower().startswith(_SCHEMES):
        return True
    name, at, domain = word.partition("@")
    if at and name and domain:
        return True
    return _is_host(word) or _is_account(word)


def _is_host(word: str) -> bool:
    """Return whether a word begins as a domain or an IPv4 address does: `example.com:8000/path`."""
    labels = re.split(r"[/?#:\\]", word, maxsplit=1)[0].rstrip(".").split(".")
    if len(labels) < 2 or not all(labels):
        return False
    last = labels[-1]
    if last.isdecimal():
        return len(labels) == 4 and all(label.isdecimal() for label in labels)
    return (last.isalpha() and len(last) > 1) or last.lower().startswith("xn--")


def _is_account(word: str) -> bool:
    plain = word.replace("-", "")
    if _IBAN.fullmatch(plain):
        return True
    is_key = len(plain) >= _KEY_CHARACTERS and plain.isascii() and plain.isalnum()
    return is_key and any(one.isdigit() for one in plain) and any(one.isalpha() for one in plain)
