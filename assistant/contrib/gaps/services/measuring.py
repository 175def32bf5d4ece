"""Measures a tenant's search by its labels: what is found at which place, and what is refused."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from assistant.contrib.gaps.models import QuestionLabel
from assistant.contrib.gaps.services.labelled_passages import passages_of, positions_of
from assistant.services.knowledge.evidence import find, lines_of
from assistant.services.knowledge.full_text import Hit
from assistant.services.knowledge.reach import whole_reach

# The newest labels of either kind that are searched for, and how long; somebody waits for it.
MAX_MEASURED = 50
MAX_SECONDS = 20.0
# Places that count as found, as many passages as a search returns by default.
PLACES = 5
# Questions that are named.
MAX_NAMED = 20


@dataclass(slots=True)
class Places:
    """At which places searches have found what answers the questions.

    Attributes:
        first: questions for which it is the first passage.
        fifth: questions for which it is one of the first five.
        reciprocal: the sum of 1 / the place of the first passage that answers.
        refused: questions for which nothing was found.
    """

    questions: int = 0
    first: int = 0
    fifth: int = 0
    reciprocal: float = 0.0
    refused: int = 0

    @property
    def mrr(self) -> float:
        return self.reciprocal / self.questions if self.questions else 0.0

    def count(self, place: int, *, is_refused: bool) -> None:
        """Count a question; `place` is 0 if none of the first five passages answers it."""
        self.questions += 1
        self.first += place == 1
        self.fifth += place > 0
        self.reciprocal += 1 / place if place else 0.0
        self.refused += is_refused


@dataclass(slots=True)
class SearchFigures:
    """What searches for labelled questions have found.

    Attributes:
        by_passage: of questions whose label names a passage: only that one answers.
        by_document: of the other questions that a document answers: each of its passages does.
        lost: those of these whose label names a passage that the document has no more.
        unanswered: questions that no document answers.
        rightly_refused: those of them for which nothing was found.
        seconds: of each search.
        missed: questions that none of the first five passages answers, `MAX_NAMED` at most.
        is_cut: whether there was no time for all.
    """

    by_passage: Places = field(default_factory=Places)
    by_document: Places = field(default_factory=Places)
    lost: int = 0
    unanswered: int = 0
    rightly_refused: int = 0
    seconds: list[float] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    is_cut: bool = False

    @property
    def median_milliseconds(self) -> float:
        return 1000 * statistics.median(self.seconds) if self.seconds else 0.0


def measure_search(*, tenant_id: int) -> SearchFigures:
    """Search all documents of a tenant for its newest labels' questions, by their wordings where they have some.

    It ends after `MAX_SECONDS`. With an encoder of a provider each search counts as usage, as any other does.
    """
    figures = SearchFigures()
    labels = QuestionLabel.objects.filter(tenant_id=tenant_id).order_by("-changed_at", "-pk")
    answered = labels.filter(document__isnull=False)[:MAX_MEASURED]
    chosen = [*answered, *labels.filter(document__isnull=True)[:MAX_MEASURED]]
    if chosen:
        # Otherwise the first search would be timed with what is kept after it.
        lines_of(whole_reach(tenant_id))
    until = time.monotonic() + MAX_SECONDS
    for label in chosen:
        if time.monotonic() > until:
            figures.is_cut = True
            break
        _search(figures, label)
    return figures


def _search(figures: SearchFigures, label: QuestionLabel) -> None:
    started = time.perf_counter()
    reach = whole_reach(label.tenant_id)
    hits = find(reach=reach, queries=label.wordings or [label.question], limit=PLACES).hits
    figures.seconds.append(time.perf_counter() - started)
    if label.document_id is None:
        figures.unanswered += 1
        figures.rightly_refused += not hits
        return
    _judge(figures, label, label.document_id, hits)


def _judge(figures: SearchFigures, label: QuestionLabel, document_id: int, hits: Sequence[Hit]) -> None:
    """Count at which place a passage answers: the one that the label names, else any of its document."""
    passages = passages_of(tenant_id=label.tenant_id, document_id=document_id) if label.passage else {}
    positions = positions_of(label.passage, passages) if label.passage else frozenset()
    figures.lost += bool(label.passage) and not positions
    answers = [
        hit.passage.document_id == document_id and (not positions or hit.passage.position in positions) for hit in hits
    ]
    place = answers.index(True) + 1 if True in answers else 0
    (figures.by_passage if positions else figures.by_document).count(place, is_refused=not hits)
    if not place and len(figures.missed) < MAX_NAMED:
        figures.missed.append(label.question)
