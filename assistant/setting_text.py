"""How a setting is read: as text from the environment, or as a value from a settings module, which is written as text.

Each `written_` function raises `ValueError` with what the setting must be if the value has another type.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from django.conf import global_settings

# How alike two names are of which one is probably the other, misspelt.
_ALIKE = 0.88


@dataclass(frozen=True)
class Reader:
    """How a variable is read, which is also how a Django setting of its name is checked.

    Args:
        default: its value if the text is empty.
        parse: reads the text; a `ValueError` says what is wrong with it.
        written: writes as text what a settings module may have in place of text, and raises `ValueError` for the rest.
    """

    default: Any
    parse: Callable[[str], Any]
    written: Callable[[Any], str]

    def read(self, value: Any) -> Any:
        """Return the checked value of a Django setting. Raises `ValueError`, which says what is wrong with it."""
        text = "" if value is None else value if isinstance(value, str) else self.written(value)
        return self.parse(text.strip()) if text.strip() else self.default


def split_words(text: str) -> list[str]:
    """Return the words of a comma separated list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def written_text(value: Any) -> str:
    raise ValueError("must be text")


def written_flag(value: Any) -> str:
    if not isinstance(value, bool):
        raise ValueError("must be True or False")
    return str(value)


def written_number(value: Any) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("must be a whole number")
    return str(value)


def written_path(value: Any) -> str:
    if not isinstance(value, Path):
        raise ValueError("must be a path")
    return str(value)


def written_list(value: Any) -> str:
    if not isinstance(value, list | tuple | set | frozenset) or not all(isinstance(word, str) for word in value):
        raise ValueError("must be a list of text")
    return ",".join(value)


def written_limits(value: Any) -> str:
    if not isinstance(value, Mapping):
        raise ValueError('must be limits by name, like {"messages_per_day": 200}')
    return ",".join(f"{name}={number}" for name, number in value.items())


def written_commands(value: Any) -> str:
    """Command lines by name, each as text or as a list of arguments."""
    if not isinstance(value, Mapping) or not all(isinstance(line, str | list | tuple) for line in value.values()):
        raise ValueError('must be command lines by name, like {"files": ["/usr/bin/mcp-files", "--root", "/srv"]}')
    return json.dumps({name: line if isinstance(line, str) else shlex.join(line) for name, line in value.items()})


def written_json(value: Any) -> str:
    if not isinstance(value, Mapping):
        raise ValueError("must be a mapping")
    try:
        return json.dumps(value)
    except TypeError:
        raise ValueError("must be a mapping of text and numbers") from None


def misspelt(names: Collection[str], settings: Any, environment: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names of settings and variables that differ from one of `names` by a letter or two, with the one meant.

    A setting that begins with ASSISTANT_ is one of them or misspelt, even if it is not clear which one is meant: "".
    """
    own = {name for name in dir(settings) if name.isupper() and settings.is_overridden(name)}
    for name in sorted({*own, *environment} - set(names) - set(dir(global_settings))):
        meant = get_close_matches(name, names, 1, _ALIKE)
        if meant or (name in own and name.startswith("ASSISTANT_")):
            yield name, meant[0] if meant else ""
