"""The vectors of tenants' passages as searches use them: read once, kept within a bound, compared exactly."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from weakref import WeakValueDictionary

import numpy as np
from django.conf import settings
from django.db.models import Count, Max, QuerySet
from numpy.typing import NDArray

from assistant.contrib.embeddings.models import PassageVector

# Passages of a tenant that are searched by meaning; further ones by words alone.
MAX_PASSAGES = 200_000
# Passages that are compared at once: as numbers of four bytes they fit a processor's cache, and one thread does it.
_CHUNK = 1_024
# How much of what a question has in common with all of a tenant's passages is taken away. Passages about nothing in
# particular are a little like everything, and would stand before the one that answers: with none of it taken, half as
# many questions in other words find their passage among 20,000.
COMMON_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a tenant's passages by one encoder.

    Attributes:
        version: how many rows there were, and the newest.
        passages: the passages' keys.
        rows: a signed byte for each dimension.
        scale: of each row, 1 / its length.
        common: the mean direction of the rows that are compared.
        kept: of each row, whether it is compared; None if all are.
    """

    version: tuple[int, int]
    passages: NDArray[np.int64]
    rows: NDArray[np.int8]
    scale: NDArray[np.float32]
    common: NDArray[np.float32]
    kept: NDArray[np.bool_] | None = None

    @property
    def size(self) -> int:
        return int(self.rows.nbytes + self.passages.nbytes + self.scale.nbytes)

    def among(self, passages: Iterable[int]) -> Vectors:
        """Return the same vectors, of which those of some passages are compared."""
        kept = np.isin(self.passages, np.fromiter(passages, dtype=np.int64))
        # What others may read has no say in what is common.
        return replace(self, kept=kept, common=_common(self.rows, self.scale, kept))


_kept: OrderedDict[tuple[int, int], Vectors] = OrderedDict()
_lock = Lock()
# Of a tenant and index whose vectors are being read: who needs them too waits, and none reads them beside.
_reading: WeakValueDictionary[tuple[int, int], Lock] = WeakValueDictionary()


def vectors_of(*, tenant_id: int, index_id: int) -> Vectors:
    """Return a tenant's vectors, from memory if nothing has changed."""
    rows = PassageVector.objects.filter(tenant_id=tenant_id, index_id=index_id)
    key = (tenant_id, index_id)
    version = _version_of(rows)
    kept = _kept_of(key)
    if kept is not None and kept.version == version:
        return kept
    with _lock:
        reading = _reading.setdefault(key, Lock())
    with reading:
        # Another thread may have read them meanwhile.
        version = _version_of(rows)
        kept = _kept_of(key)
        if kept is not None and kept.version == version:
            return kept
        made = _read(rows, version, kept)
        _keep(key, made)
        return made


def _version_of(rows: QuerySet[PassageVector]) -> tuple[int, int]:
    seen = rows.aggregate(count=Count("pk"), newest=Max("pk"))
    return seen["count"], seen["newest"] or 0


def _kept_of(key: tuple[int, int]) -> Vectors | None:
    with _lock:
        kept = _kept.get(key)
        if kept is not None:
            _kept.move_to_end(key)
        return kept


def _read(rows: QuerySet[PassageVector], version: tuple[int, int], kept: Vectors | None) -> Vectors:
    """Return the vectors of a version; only the newer ones are read if all that are kept are still there."""
    newest = version[1]
    rows = rows.filter(pk__lte=newest).order_by("pk")
    old = kept.version if kept is not None else (0, 0)
    if kept is None or not kept.rows.size or rows.filter(pk__lte=old[1]).count() != old[0]:
        return _made(version, _found(rows[:MAX_PASSAGES]))
    further = _found(rows.filter(pk__gt=old[1])[: max(0, MAX_PASSAGES - old[0])])
    newer = _made(version, further, kept.rows.shape[1])
    rows_together = np.concatenate([kept.rows, newer.rows])
    scale = np.concatenate([kept.scale, newer.scale])
    passages = np.concatenate([kept.passages, newer.passages])
    return Vectors(version, passages, rows_together, scale, _common(rows_together, scale))


def _found(rows: QuerySet[PassageVector]) -> list[tuple[int, bytes]]:
    found = rows.values_list("passage_id", "vector").iterator(chunk_size=2_000)
    return [(pk, bytes(vector)) for pk, vector in found]


def forget() -> None:
    """Read all vectors anew with the next search."""
    with _lock:
        _kept.clear()


def nearest(vectors: Vectors, asked: Sequence[bytes], limit: int) -> dict[int, float]:
    """Return the passages whose directions are nearest to several, with how near they are: 1 at most.

    That is the mean of the cosines, less half of the cosine that the passage has with all others on average: what is
    like everything comes later, as common words count less than rare ones.
    """
    questions = np.stack([np.frombuffer(one, dtype=np.int8) for one in asked]).astype(np.float32)
    if not len(vectors.rows) or vectors.rows.shape[1] != questions.shape[1]:
        return {}
    # The mean of the cosines is the cosine with the mean of the questions' directions.
    asked_for = (questions / np.linalg.norm(questions, axis=1, keepdims=True)).mean(axis=0)
    question = asked_for - COMMON_SHARE * vectors.common
    likeness = np.concatenate([_likeness(vectors, at, question) for at in range(0, len(vectors.rows), _CHUNK)])
    passages = vectors.passages if vectors.kept is None else vectors.passages[vectors.kept]
    best = np.argsort(-likeness)[:limit] if len(likeness) <= limit else np.argpartition(-likeness, limit)[:limit]
    return {int(passages[at]): float(likeness[at]) for at in best}


def _likeness(vectors: Vectors, at: int, question: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosines of a chunk's rows that are compared. No more than these are copied."""
    rows = vectors.rows[at : at + _CHUNK]
    scale = vectors.scale[at : at + _CHUNK]
    if vectors.kept is not None:
        kept = vectors.kept[at : at + _CHUNK]
        rows = rows[kept]
        scale = scale[kept]
    likeness: NDArray[np.float32] = rows.astype(np.float32) @ question * scale
    return likeness


def _made(version: tuple[int, int], found: Sequence[tuple[int, bytes]], dimension: int | None = None) -> Vectors:
    """Return vectors as they are compared, without those of another length than the first or than is given."""
    if dimension is None:
        dimension = len(found[0][1]) if found else 0
    of_length = [(pk, vector) for pk, vector in found if len(vector) == dimension]
    passages = [pk for pk, _ in of_length]
    rows = np.frombuffer(b"".join(vector for _, vector in of_length), dtype=np.int8).reshape(len(passages), dimension)
    lengths = np.concatenate(
        [
            np.linalg.norm(rows[at : at + _CHUNK].astype(np.float32), axis=1)
            for at in range(0, max(1, len(rows)), _CHUNK)
        ]
    )
    scale = (1 / np.maximum(lengths, 1)).astype(np.float32)
    return Vectors(version, np.array(passages, dtype=np.int64), rows, scale, _common(rows, scale))


def _common(
    rows: NDArray[np.int8], scale: NDArray[np.float32], kept: NDArray[np.bool_] | None = None
) -> NDArray[np.float32]:
    """Return the mean of the directions of rows, of those that are kept. No more than a chunk is copied."""
    total = np.zeros(rows.shape[1], dtype=np.float32)
    weights = scale if kept is None else np.where(kept, scale, 0).astype(np.float32)
    for at in range(0, len(rows), _CHUNK):
        total += weights[at : at + _CHUNK] @ rows[at : at + _CHUNK].astype(np.float32)
    count = len(rows) if kept is None else int(np.count_nonzero(kept))
    mean: NDArray[np.float32] = (total / max(1, count)).astype(np.float32)
    return mean


def _keep(key: tuple[int, int], made: Vectors) -> None:
    """Keep vectors; those that were not searched for the longest go, until the others fit."""
    most = settings.ASSISTANT_EMBEDDINGS_MEMORY_MB * 2**20
    with _lock:
        _kept.pop(key, None)
        if made.size > most:
            return
        _kept[key] = made
        while sum(one.size for one in _kept.values()) > most:
            _kept.popitem(last=False)
