"""What an import would do, or did: rows created and changed, left alone, not taken, and what is left to do by hand."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

# `same`: as the bundle says already. `kept`: here only. `by_hand`: left to people, such as entering a secret.
Kind = Literal["create", "change", "same", "kept", "refused", "by_hand"]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A value before and after, as JSON values; `before` is None for a row that is new."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the bundle or of the tenant.

    `section` is what it is, in a word. `reason` says why it is not taken, or what is to be done by hand.
    """

    kind: Kind
    section: str
    name: str = ""
    changes: tuple[FieldChange, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """All entries, in the order of the bundle."""

    entries: tuple[Entry, ...]

    def of_kind(self, *kinds: Kind) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind in kinds]

    @property
    def is_empty(self) -> bool:
        """Whether an import would change nothing."""
        return not self.of_kind("create", "change")

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(entry.kind for entry in self.entries))

    @property
    def digest(self) -> str:
        """A fingerprint: an import that is confirmed must do what was shown."""
        shown = [
            [entry.kind, entry.section, entry.name, [[one.name, one.before, one.after] for one in entry.changes]]
            for entry in self.entries
        ]
        return hashlib.sha256(json.dumps(shown, sort_keys=True, default=str).encode()).hexdigest()


def changes_of(pairs: Iterable[tuple[str, Any, Any]]) -> tuple[FieldChange, ...]:
    """Return the changes among `(name, before, after)`, leaving out equal values."""
    return tuple(FieldChange(name, before, after) for name, before, after in pairs if not _is_equal(before, after))


def kind_of(changes: Collection[FieldChange], *, is_new: bool) -> Kind:
    """Return the kind of a row that is taken."""
    if not changes:
        return "same"
    return "create" if is_new else "change"


def _is_equal(before: Any, after: Any) -> bool:
    # Unlike ==, JSON tells 1 from true, in settings of tools too.
    return bool(before == after) and _typed(before) == _typed(after)


def _typed(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=lambda other: str(other.normalize()))
