"""What the app adds to runs, answers and message boxes; most of it once something is exposed."""

from __future__ import annotations

from functools import cache

from assistant.contrib.data.exposing import declared
from assistant.contrib.data.services.exposures import ticked
from assistant.contrib.data.services.structure import exposes_views
from assistant.services import composer_parts
from assistant.services.conversations.added_details import add_detail
from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy import added_rules


def offer() -> None:
    """Add what the tools need that are exposed now."""
    _add_names()
    if declared() or exposes_views() or ticked():
        _add_rules()
    if declared() or ticked():
        _add_rows()


@cache
def _add_rules() -> None:
    # Their imports read what is exposed, which is known only when the core has collected the tools.
    from assistant.contrib.data.services import personal_values, reviews

    added_rules.read_only_if(reviews.read_only_reason)
    added_rules.ask_if(personal_values.reason_to_ask)


@cache
def _add_rows() -> None:
    add_detail(
        "data",
        read="assistant.contrib.data.services.shown_results.shown_results",
        script="assistant/data/results.js",
        note="assistant.contrib.data.services.shown_results.note_of",
        share="assistant.contrib.data.services.shown_results.for_readers_of_a_link",
        for_all=True,
    )


@cache
def _add_names() -> None:
    composer_parts.add_to_composer(
        script="assistant/data/rows.js",
        url_name="rows",
        mark="[data-assistant-row]",
        key="@",
        query="about",
        is_for=_has_names,
    )


def _has_names(*, member: Member) -> bool:
    """Return whether there is something that a member can name: visitors name rows alone."""
    return not member.is_end_user or bool(_add_rows.cache_info().currsize)
