"""Counts which files and functions of the product requests enter, with a profile hook in all threads of a process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import assistant

PRODUCT = f"{Path(assistant.__file__).parent}/"
# What tests of host projects use is no part of a way.
_OUTSIDE = (f"{PRODUCT}testing/", f"{PRODUCT}migrations/")
# Background work of the process, such as the renewal of leases, may come between: it is in none of several tries.
TRIES = 6

Function = tuple[str, str]


@dataclass
class Way:
    """What one kind of request enters.

    Attributes:
        functions: file and qualified name.
        moves: functions of one file that were called from another: both.
    """

    functions: set[Function] = field(default_factory=set)
    moves: set[tuple[Function, Function]] = field(default_factory=set)

    @property
    def files(self) -> set[str]:
        return {file for file, _ in self.functions}

    def common(self, other: Way) -> Way:
        """Return what both ways enter."""
        return Way(self.functions & other.functions, self.moves & other.moves)

    def report(self) -> dict[str, Any]:
        return {**asdict(self.counts()), "functions_of": _by_file(self.functions)}

    def counts(self) -> Counts:
        return Counts(len(self.files), len(self.functions), len(self.moves))


@dataclass(frozen=True, order=True)
class Counts:
    """How many files and functions a way enters, and how often it moves from a file to another."""

    files: int
    functions: int
    moves: int


def _by_file(functions: set[Function]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file, name in sorted(functions):
        found.setdefault(file, []).append(name)
    return found


class Hook:
    """Notes functions while a block of `watch` runs. Make it before the threads that it is to see begin."""

    def __init__(self) -> None:
        self._known: dict[CodeType, Function | None] = {}
        self._way: Way | None = None
        threading.setprofile(self)
        sys.setprofile(self)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        way = self._way
        if way is None or event != "call" or (entered := self._function(frame.f_code)) is None:
            return
        way.functions.add(entered)
        caller = frame.f_back
        while caller is not None and (calling := self._function(caller.f_code)) is None:
            caller = caller.f_back
        if caller is not None and calling is not None and calling[0] != entered[0]:
            way.moves.add((calling, entered))

    def _function(self, code: CodeType) -> Function | None:
        if code not in self._known:
            self._known[code] = self._named(code)
        return self._known[code]

    def _named(self, code: CodeType) -> Function | None:
        file = code.co_filename
        name = code.co_qualname
        if (
            not file.startswith(PRODUCT) or file.startswith(_OUTSIDE) or name.endswith(">")
        ):  # no comprehension or lambda
            return None
        return file.removeprefix(PRODUCT), name

    @contextmanager
    def watch(self) -> Iterator[Way]:
        """Note what is entered while the block runs, in all threads."""
        self._way = way = Way()
        try:
            yield way
        finally:
            self._way = None

    def walk(self, request: Callable[[], object]) -> Way:
        """Return what a request enters each time, once everything that is done at first use is done."""
        request()
        ways = []
        for _ in range(TRIES):
            with self.watch() as way:
                request()
            ways.append(way)
        common = ways[0]
        for way in ways[1:]:
            common = common.common(way)
        return common
