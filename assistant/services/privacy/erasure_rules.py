"""What is erased of a person that no foreign key leads to: rows that hold their name or address as a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

# Takes the person's names and addresses; deletes or empties rows of all tenants, and returns their number by model.
Rule = Callable[[Collection[str]], Counter[str]]
_rules: list[Rule] = []


def erase_with(rule: Rule) -> None:
    """Have a rule called for each person who is erased, before their rows are deleted."""
    _rules.append(rule)


def erase_texts(names: Collection[str]) -> Counter[str]:
    """Apply all rules to a person's names; return the number of rows by model."""
    counts: Counter[str] = Counter()
    for rule in _rules:
        counts += rule(names)
    return counts
