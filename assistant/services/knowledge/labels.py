"""Labelled questions of a tenant: whether its documents answer them. An optional app adds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from django.utils.module_loading import import_string

# So many labels of each kind sharpen the lines of a tenant; fewer say too little.
LEAST = 5


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question of which somebody has said whether documents answer it.

    Attributes:
        queries: what is searched for it.
        document_id: the document that answers it; None if none does.
    """

    queries: tuple[str, ...]
    document_id: int | None


class LabelSource(Protocol):
    """Knows the labels of a tenant, in a thread without an event loop."""

    def __call__(self, tenant_id: int) -> Sequence[Labelled]:
        """Return a tenant's labels, as many as sharpen its lines."""
        ...


_source: str | None = None


def label_with(source: str | None) -> None:
    """Have labels sharpen the lines of tenants.

    Args:
        source: the dotted name of a `LabelSource`, which is imported with the first search; None ends it.
    """
    global _source  # noqa: PLW0603 - of the whole process
    _source = source


def labels_of(tenant_id: int) -> tuple[Labelled, ...]:
    """Return the labels of a tenant; none if there are too few of a kind."""
    if _source is None:
        return ()
    labels = tuple(cast(LabelSource, import_string(_source))(tenant_id))
    answered = sum(one.document_id is not None for one in labels)
    return labels if min(answered, len(labels) - answered) >= LEAST else ()
