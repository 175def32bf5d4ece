"""What is exposed now: what the code says, narrowed by what operators have ticked, and what they have ticked besides.

The code is the limit of the models that it exposes: what is ticked takes columns away from them, marks more of them as
personal, and words them. Models that the code does not expose have what is ticked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from assistant.contrib.data.exposing import Exposure, declared
from assistant.contrib.data.services.columns import column_of
from assistant.toolkit import InvalidTool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    """What operators have ticked of one model, as `ExposedModel` stores it."""

    model: Any
    is_offered: bool
    fields: tuple[str, ...]
    filters: tuple[str, ...]
    personal: tuple[str, ...]
    description: str = ""
    wording: tuple[tuple[str, str], ...] = ()


_ticked: dict[Any, Ticked] = {}


def ticked() -> Mapping[Any, Ticked]:
    """Return what operators have ticked, by the model, as this process knows it."""
    return dict(_ticked)


def use_ticked(models: Iterable[Ticked]) -> None:
    """Have this process expose what operators have ticked. `following.refresh` reads it."""
    global _ticked  # noqa: PLW0603 - of the process, replaced as a whole
    _ticked = {one.model: one for one in models}


def exposures() -> list[Exposure]:
    """Return what is exposed: first what the code says, in its order, then what is ticked besides."""
    coded = declared()
    known = {exposure.model for exposure in coded}
    own = [exposure_of(one) for model, one in _ticked.items() if model not in known and one.is_offered]
    return [narrowed(exposure, _ticked.get(exposure.model)) for exposure in coded] + own


def narrowed(exposure: Exposure, one: Ticked | None) -> Exposure:
    """Return what remains of what the code says about a model; all of it where nothing is ticked."""
    if one is None:
        return exposure
    # Also where it is off: its rules hold for rows that others refer to.
    if not one.is_offered:
        return replace(exposure, is_withdrawn=True)
    filters = exposure.fields if exposure.filters is None else exposure.filters
    fields = tuple(name for name in exposure.fields if name in one.fields)
    return replace(
        exposure,
        fields=fields,
        filters=tuple(name for name in filters if name in one.filters),
        personal=tuple(name for name in (*exposure.fields, *filters) if is_personal(exposure, name, one)),
        search=None if exposure.search is None else tuple(name for name in exposure.search if name in fields),
        order=tuple(name for name in exposure.order if name.removeprefix("-") in fields),
        description=one.description or exposure.description,
        wording=one.wording,
    )


def is_personal(exposure: Exposure, name: str, one: Ticked | None = None) -> bool:
    """Whether a column is personal: by the code or its guess, or because that is ticked."""
    if one is not None and name in one.personal:
        return True
    if exposure.personal is not None:
        return name in exposure.personal
    return column_of(exposure.model, name, depth=exposure.depth).is_personal


def exposure_of(one: Ticked) -> Exposure:
    """Return what is exposed of a model by ticks alone; columns that are no longer there are left out."""
    return Exposure(
        model=one.model,
        fields=tuple(name for name in one.fields if _exists(one.model, name)),
        filters=tuple(name for name in one.filters if _exists(one.model, name)),
        personal=tuple(name for name in one.personal if _exists(one.model, name)),
        description=one.description,
        wording=one.wording,
    )


def _exists(model: Any, name: str) -> bool:
    try:
        column = column_of(model, name, depth=Exposure(model=model, fields=()).depth)
    except InvalidTool:
        return False
    return not column.is_many
