"""The cells of the board as HTML, with their texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from assistant.admin.base.names import state_word
from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.admin.tools.wording import after_outside, last_change
from assistant.contrib.panel.services.last_switches import LastSwitch
from assistant.contrib.panel.services.tool_board import BoardCell, BoardRow, State, is_in_state
from assistant.models.tool_settings import FOLLOW


class Texts:
    """Numbers texts, each once; a page's cells refer to them by number."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, text: Any) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.found)
            self.found.append(text)
        return self._numbers[text]


def cells_html(
    row: BoardRow,
    *,
    state: State,
    changes: Mapping[tuple[int, str], LastSwitch],
    texts: Texts,
    notes: Texts,
) -> SafeString:
    """Return a row's cells. Not by a template, which would take a millisecond for every ten of a thousand cells."""
    words = {policy: state_word(policy) for policy in ("on", "ask", "off")}
    return format_html_join(
        "",
        '<td class="{}" data-r="{}" data-n="{}">{}</td>',
        (
            ("none", "", "", "")
            if cell is None
            else (
                classes_of(cell, is_in_state(cell, state)),
                texts.number(texts_of(cell)),
                notes.number(last_change(changes.get((row.tenant.pk, cell.tool.name)))),
                words[cell.decision.policy],
            )
            for cell in row.cells
        ),
    )


def classes_of(cell: BoardCell, is_shown: bool = True) -> str:
    own = "" if cell.own == FOLLOW else f" own own-{cell.own}"
    block = " blocked" if cell.decision.layer == "deployment" else ""
    return f"{cell.decision.policy}{own}{block}{'' if is_shown else ' faint'}"


def texts_of(cell: BoardCell) -> tuple[str, str]:
    """Return the rule that decided, and the decision after text from outside was read."""
    policy = cell.decision.policy
    return shown_rule(cell.decision.rule), "" if policy == "off" else after_outside(
        policy=policy,
        marked=cell.marked.policy,
        is_read_only=cell.tool.read_only,
        has_destinations=bool(cell.tool.destinations),
    )
