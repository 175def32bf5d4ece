"""What ranks passages beside full text: an optional app adds it, and full text alone decides without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from django.utils.module_loading import import_string

from assistant.services.knowledge.reach import Reach


@dataclass(frozen=True, slots=True)
class Ranked:
    """The passages of a tenant that are nearest to some wordings by their meaning.

    Attributes:
        model: what compared them, such as a model and its version: likenesses of two models are not comparable.
        likeness: of each passage by its row, averaged over the wordings that the model understands; 1 at most.
        understands_all: whether it understands the languages of all wordings.
    """

    model: str
    likeness: Mapping[int, float]
    understands_all: bool = True


class Ranking(Protocol):
    """Ranks passages within reach, in a thread without an event loop."""

    def __call__(self, *, reach: Reach, questions: Sequence[Sequence[str]], limit: int) -> Sequence[Ranked | None]:
        """Return the `limit` passages within reach that are nearest to the wordings of each question.

        None stands for a question about which it has nothing to say, and full text alone decides. Where its model
        cannot be asked it must not raise, and asks no more: it returns None for all.
        """
        ...


_ranking: str | None = None


def rank_with(ranking: str | None) -> None:
    """Have passages ranked by meaning too.

    Args:
        ranking: the dotted name of a `Ranking`, which is imported with the first search; None ends it.
    """
    global _ranking  # noqa: PLW0603 - of the whole process
    _ranking = ranking


def ranked(*, reach: Reach, queries: Sequence[str], limit: int) -> Ranked | None:
    """Return what the added ranking says of one question; None without one."""
    return ranked_each(reach=reach, questions=[queries], limit=limit)[0]


def ranked_each(*, reach: Reach, questions: Sequence[Sequence[str]], limit: int) -> Sequence[Ranked | None]:
    """Return what the added ranking says of several questions at once; None of each without one."""
    if _ranking is None:
        return [None] * len(questions)
    return cast(Ranking, import_string(_ranking))(reach=reach, questions=questions, limit=limit)
