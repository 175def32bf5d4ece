"""Which passages a label means: those with its words, so that they are found in the next version of a document too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import groupby

from django.db.models import Q

from assistant.contrib.gaps.models import QuestionLabel
from assistant.models.knowledge import Passage
from assistant.services.knowledge.fusion import search_fused
from assistant.services.knowledge.reach import whole_reach
from assistant.services.knowledge.stems import words_of

# Passages of a document that are offered for a label.
OFFERED = 5
# A changed passage is still the one that is meant if it has this share of the words; of fewer words none may change.
LEAST_SHARE = 0.85
LEAST_WORDS = 6


def in_one_line(text: str) -> str:
    """Return a text with single blanks, as words of passages are kept."""
    return " ".join(text.replace("\x00", "").split())


class PassageText:
    """The text of a passage, prepared once for all labels that are looked for in it."""

    def __init__(self, text: str) -> None:
        self.line = in_one_line(text).casefold()

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(words_of(self.line))


def passages_of(*, tenant_id: int, document_id: int) -> dict[int, PassageText]:
    """Return the texts of a document's passages by their positions."""
    rows = Passage.objects.filter(tenant_id=tenant_id, document=document_id)
    return {position: PassageText(text) for position, text in rows.order_by("position").values_list("position", "text")}


def positions_of(words: str, passages: Mapping[int, PassageText]) -> frozenset[int]:
    """Return the positions of the passages that have some words in a row, else of those with most of them.

    None are returned if no passage has `LEAST_SHARE` of the words.
    """
    wanted = in_one_line(words).casefold()
    exact = frozenset(at for at, text in passages.items() if wanted in text.line)
    return exact or _nearest(frozenset(words_of(wanted)), passages)


def _nearest(words: frozenset[str], passages: Mapping[int, PassageText]) -> frozenset[int]:
    had = {at: len(words & text.words) for at, text in passages.items()} if len(words) >= LEAST_WORDS else {}
    most = max(had.values(), default=0)
    if most < LEAST_SHARE * len(words):
        return frozenset()
    return frozenset(at for at, count in had.items() if count == most)


def offered_passages(label: QuestionLabel) -> list[Passage]:
    """Return the passages of a label's document that fit its question best, else its first ones."""
    reach = whole_reach(label.tenant_id).within(Q(pk=label.document_id))
    found = search_fused(reach=reach, queries=[label.question, *label.wordings], limit=OFFERED)
    return [hit.passage for hit in found.hits] or list(reach.passages().order_by("position")[:OFFERED])


def check_labels(*, tenant_id: int) -> None:
    """Keep of each label with a passage whether its document still has it."""
    labels = QuestionLabel.objects.filter(tenant_id=tenant_id, document__isnull=False).exclude(passage="")
    rows = labels.order_by("document_id", "pk").values_list("document_id", "pk", "passage", "is_lost")
    for document_id, some in groupby(list(rows), key=lambda row: row[0]):
        passages = passages_of(tenant_id=tenant_id, document_id=document_id)
        _keep(tenant_id, passages, [row[1:] for row in some])


def _keep(tenant_id: int, passages: Mapping[int, PassageText], labels: Iterable[tuple[int, str, bool]]) -> None:
    for pk, words, was_lost in labels:
        is_lost = not positions_of(words, passages)
        if is_lost != was_lost:
            # Not the moment of the last change: the newest labels draw the lines.
            QuestionLabel.objects.filter(tenant_id=tenant_id, pk=pk, passage=words).update(is_lost=is_lost)
