"""Sources of a run, facts that stand in them, and the lists that facts are rows of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Literal

from assistant.contrib.receipts.matching.units import Unit

# Of a column of a list, in place of the text that a row does not have.
MISSING = "\0missing"

SourceKind = Literal["tool", "passage", "message", "page", "instructions", "clock"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where facts come from.

    Attributes:
        name: of the tool, or the title of the passage's document.
        call_id: of the tool call.
        id: of the passage or message.
        number: by which the model was given the passage.
    """

    kind: SourceKind
    name: str = ""
    call_id: str = ""
    id: str = ""
    number: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of a source.

    Attributes:
        path: of the field in the tool's result, such as `orders.0.total`; "" in texts.
        start, end: where it stands in a text.
        unit: None if it is not known whether the number has one.
        row: the number of the list in the run and of the row in it; None for what is no part of a row.
    """

    source: int
    path: str = ""
    start: int = 0
    end: int = 0
    number: Decimal | None = None
    unit: Unit | None = None
    day: date | None = None
    row: tuple[int, int] | None = None

    @property
    def field(self) -> str:
        """The name of the field, without numbers of places in lists."""
        return next((part for part in reversed(self.path.split(".")) if not part.isdigit()), "")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a result a value stands; `scope` has the currency and the unit that objects around it name."""

    source: int
    path: str = ""
    row: tuple[int, int] | None = None
    scope: Mapping[str, str] = field(default_factory=dict)
    depth: int = 0

    def at(self, key: str) -> Place:
        """Return the place of a field or an entry."""
        return replace(self, path=f"{self.path}.{key}" if self.path else key, depth=self.depth + 1)

    def fact(self, start: int = 0, end: int = 0) -> Fact:
        """Return a fact that stands here, in texts between two characters."""
        return Fact(self.source, self.path, start, end, row=self.row)


@dataclass(slots=True)
class Table:
    """The rows of a list in a result: its numbers by column, and which rows have each text of a column.

    Its grain is what of time they are of: `day` or `month`. Texts are in small letters; MISSING stands for no value,
    and `\\0true` and `\\0false` for what is no text.
    """

    name: str
    source: int
    rows: int = 0
    grain: str = ""
    columns: dict[str, list[Fact]] = field(default_factory=lambda: defaultdict(list))
    texts: dict[str, dict[str, list[int]]] = field(default_factory=lambda: defaultdict(dict))


@dataclass(frozen=True, slots=True)
class Column:
    """The numbers of one field of a list.

    Attributes:
        list_name: of the list.
        place: of the field among those of the list.
        rows: of the list.
        sums: of the first number, of the first two, and so on.
        total: of all without their signs.
    """

    list_name: str
    field: str
    place: int
    rows: int
    facts: list[Fact]
    sums: list[Decimal]
    total: Decimal
