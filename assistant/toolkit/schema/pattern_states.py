"""Estimates the size of untrusted regular expressions without compiling them."""

from __future__ import annotations

import re

# An escape, a class, the start or end of a group, a repeat, an alternative, or one character.
_PART = re.compile(
    r"\\[pP](?:\{[^}]*\}|.)|\\.|\[\^?\]?(?:\\.|[^\]\\])*(?:\]|$)|\((?:\?<?[:=!])?|\)|\{\d+(?:,\d*)?\}|.", re.DOTALL
)
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}")
# States of a Unicode property class (a few hundred ranges) and of a negated class, in a UTF-8 automaton.
_PROPERTY_CLASS_STATES, _NEGATED_CLASS_STATES = 100, 10


def states_of(pattern: str) -> int:
    """Estimate the states of a regular expression's automaton, with repeats expanded."""
    groups: list[list[int]] = [[0, 0]]  # states of each open group, and of its last element
    for part in _PART.findall(pattern):
        group = groups[-1]
        if part.startswith("(") and part[-1] in "(:=!":
            groups.append([0, 0])
        elif part == ")" and len(groups) > 1:
            states = groups.pop()[0] + 1
            groups[-1] = [groups[-1][0] + states, states]
        elif (repeat := _REPEAT.fullmatch(part)) is not None:
            times = max(1, *(int(number[:9]) for number in repeat.groups() if number))
            group[:] = [group[0] + group[1] * (times - 1), group[1] * times]
        elif part not in "*+?|":
            states = _states_of_one(part)
            group[:] = [group[0] + states, states]
    return sum(states for states, _ in groups)


def _states_of_one(part: str) -> int:
    if "\\p" in part or "\\P" in part:
        return _PROPERTY_CLASS_STATES * (part.count("\\p") + part.count("\\P"))
    is_most = part == "." or part.startswith("[^") or any(one in part for one in ("\\W", "\\D", "\\S"))
    return _NEGATED_CLASS_STATES if is_most else 1 + len(part) // 16
