"""The size of a regular expression that somebody else wrote, found without compiling it."""

from __future__ import annotations

import re

# An escape, a class, a group's beginning, its end, a repeat, an alternative, or one character.
_PART = re.compile(
    r"\\[pP](?:\{[^}]*\}|.)|\\.|\[\^?\]?(?:\\.|[^\]\\])*(?:\]|$)|\((?:\?<?[:=!])?|\)|\{\d+(?:,\d*)?\}|.", re.DOTALL
)
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}")
# A class of a few hundred ranges, and one of all characters but some, in states of a matcher of UTF-8.
_OF_PROPERTY, _OF_MOST = 100, 10


def states_of(pattern: str) -> int:
    """About how many states a matcher of a regular expression has, with its repeats written out."""
    groups: list[list[int]] = [[0, 0]]  # the states of each open group, and of the last thing in it
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
        return _OF_PROPERTY * (part.count("\\p") + part.count("\\P"))
    is_most = part == "." or part.startswith("[^") or any(one in part for one in ("\\W", "\\D", "\\S"))
    return _OF_MOST if is_most else 1 + len(part) // 16
