"""Blocks of lines in a project's files: added, compared, and taken back whole, by a record beside `manage.py`."""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RECORD = "assistant_init.json"


@dataclass(frozen=True, slots=True)
class Block:
    """Lines at the end of a file.

    Attributes:
        file: relative to the project's folder.
        text: the lines.
        is_new_file: whether the file did not exist before.
        had_no_end: whether the file's last line had no end, which it was given.
    """

    file: str
    text: str
    is_new_file: bool = False
    had_no_end: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """What was written, and the facts of the project that the proposal followed from."""

    blocks: tuple[Block, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    def block_of(self, file: str) -> Block | None:
        """Return the block in a file."""
        return next((block for block in self.blocks if block.file == file), None)


@dataclass(frozen=True, slots=True)
class Change:
    """A file's text before and after; None where there is no file."""

    file: str
    before: str | None
    after: str | None


class EditedBlock(Exception):
    """Lines that were written have been edited since."""


def read_record(folder: Path) -> Record | None:
    """Return what was written into a project; None if nothing was."""
    path = folder / RECORD
    if not path.is_file():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    return Record(tuple(Block(**block) for block in stored["blocks"]), stored["facts"])


def record_text(record: Record) -> str:
    """Return a record as its file has it."""
    return json.dumps({"blocks": [asdict(one) for one in record.blocks], "facts": record.facts}, indent=2) + "\n"


def added(folder: Path, file: str, text: str, *, base: Change | None = None) -> tuple[Block, Change]:
    """Return the change that adds lines to the end of a file, and the block as it is recorded.

    Args:
        base: a change that takes earlier lines out of the file first.
    """
    stored = _read(folder / file)
    before = stored if base is None else base.after
    if before is None:
        return Block(file, text, is_new_file=True), Change(file, stored, text)
    had_no_end = bool(before) and not before.endswith("\n")
    block = Block(file, text, had_no_end=had_no_end)
    return block, Change(file, stored, before + _inserted(block, is_empty=not before))


def removed(folder: Path, block: Block, *, even_if_edited: bool = False) -> Change | None:
    """Return the change that takes a block back; None if it is gone already.

    Raises:
        EditedBlock: its lines have been edited since, and `even_if_edited` is not set.
    """
    before = _read(folder / block.file)
    if before is None:
        return None
    ours = _inserted(block, is_empty=block.is_new_file)
    place = before.find(ours)
    if place < 0 and before.startswith(block.text):
        ours = block.text
        place = 0
    if place >= 0:
        rest = before[:place] + before[place + len(ours) :]
        return Change(block.file, before, None if block.is_new_file and not rest.strip() else rest)
    found = _similar(before, block)
    if found is None:
        if block.text.splitlines()[0] not in before:
            return None
        if not even_if_edited:
            raise EditedBlock(f"The lines in {block.file} have been edited since.")
        found = before[before.index(block.text.splitlines()[0]) :]
    rest = before.replace(found, "").rstrip("\n") + "\n"
    return Change(block.file, before, None if block.is_new_file and not rest.strip() else rest)


def diff_of(changes: Iterable[Change]) -> Iterator[str]:
    """Yield the lines of a unified diff."""
    for change in changes:
        before = [] if change.before is None else change.before.splitlines()
        after = [] if change.after is None else change.after.splitlines()
        names = (
            "/dev/null" if change.before is None else f"a/{change.file}",
            "/dev/null" if change.after is None else f"b/{change.file}",
        )
        yield from difflib.unified_diff(before, after, *names, lineterm="", n=2)


def write(folder: Path, changes: Iterable[Change]) -> None:
    """Make changes to a project's files, with the line ends that they have."""
    for change in changes:
        path = folder / change.file
        if change.after is None:
            path.unlink(missing_ok=True)
            continue
        has_returns = path.is_file() and b"\r\n" in path.read_bytes()
        with path.open("w", encoding="utf-8", newline="\r\n" if has_returns else "\n") as file:
            file.write(change.after)


def undone(changes: Iterable[Change]) -> list[Change]:
    """Return the changes that take changes back."""
    return [Change(change.file, change.after, change.before) for change in changes]


def _inserted(block: Block, *, is_empty: bool) -> str:
    if is_empty:
        return block.text
    return ("\n" if block.had_no_end else "") + "\n" + block.text


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _similar(text: str, block: Block) -> str | None:
    """Return the end of a text that says the same as a block in other lines, as a formatter leaves it."""
    begin = block.text.splitlines()[0]
    if begin not in text:
        return None
    found = text[text.index(begin) :]
    try:
        is_same = ast.dump(ast.parse(found)) == ast.dump(ast.parse(block.text))
    except SyntaxError:
        return None
    return found if is_same else None
