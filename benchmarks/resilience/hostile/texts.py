"""Hostile inputs: texts, JSON values other than text, invalid bodies, and parts of paths."""

from __future__ import annotations

from collections.abc import Mapping

DEEP = 5000
# As they are written in JSON: escapes stay escapes.
TEXTS: Mapping[str, str] = {
    "NUL": r"a\u0000b",
    "half a character": r"a\ud800b",
    "the other half": r"\udfff",
    "direction marks": r"\u202eevil\u2066\u200f",
    "tag characters": r"hi\udb40\udc41\udb40\udc42",
    "control characters": r"\u0001\u0008\u001b[31m\u007f\u0085",
    "a byte order mark": r"\ufeffx",
    "no characters": r"\uffff\ufffe",
    "combining": "e" + r"\u0301" * 300,
    "emoji": r"\ud83d\udc68\u200d\ud83d\udc69",
    "line separators": r"a\u2028b\u2029c",
    "long": "x" * 40_000,
    "markup": "<script>alert(1)</script>{{7*7}}{% debug %}%s%n",
    "SQL": "'; DROP TABLE assistant_message; --",
    "a path": "../../../../etc/passwd",
}
# JSON values other than text.
VALUES: Mapping[str, str] = {
    "NaN": "NaN",
    "Infinity": "-Infinity",
    "a large number": "9" * 400,
    "a large float": "1e999",
    "null": "null",
    "true": "true",
    "a list": "[[]]",
    "an object": '{"a":{"b":null}}',
    "depth": "[" * DEEP + "]" * DEEP,
}
BODIES: Mapping[str, bytes] = {
    "bad UTF-8": b'{"text": "\xff\xfe\xed\xa0\x80"}',
    "no JSON": b"{",
    "nothing": b"",
    "depth": b"[" * 60_000,
    "size": b'{"text": "' + b"x" * 300_000 + b'"}',
    "two keys": b'{"title": "a", "title": "b"}',
}
SEGMENTS = (
    "%00",
    "%ff%fe",
    "%ed%a0%80",
    "%E2%80%AEx",
    "%F3%A0%81%81",
    "x" * 3000,
    "%2e%2e%2f",
    "NaN",
    "9" * 60,
    "%0d%0aX:y",
    "'%22%3c",
)
