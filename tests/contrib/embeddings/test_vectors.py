"""How vectors are compared: what a question has in common with every passage says nothing about which one answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.contrib.embeddings.services import vectors
from assistant.contrib.embeddings.services.vectors import Vectors, nearest

GENERIC = (0.9, 0.1, 0.0)
ANSWER = 100


def made(rows: list[tuple[float, ...]], passages: list[int]) -> Vectors:
    found = [(pk, signed(row)) for pk, row in zip(passages, rows, strict=True)]
    return vectors._made((len(rows), len(rows)), found)


def signed(row: tuple[float, ...]) -> bytes:
    return np.round(np.array(row) * 127).astype(np.int8).tobytes()


@pytest.fixture
def handbook() -> Vectors:
    """Forty passages about nothing in particular, and one that answers."""
    rows = [(GENERIC[0], GENERIC[1], at / 400) for at in range(40)]
    return made([*rows, (0.3, 0.0, 0.8)], [*range(40), ANSWER])


def first(found: dict[int, float]) -> int:
    return max(found, key=lambda pk: found[pk])


QUESTION = signed((0.8, 0.0, 0.45))


def test_the_passage_that_answers_stands_before_those_that_are_like_everything(handbook: Vectors) -> None:
    assert first(nearest(handbook, [QUESTION], 5)) == ANSWER


def test_without_that_the_common_ones_would_fill_all_places(handbook: Vectors, monkeypatch: Any) -> None:
    monkeypatch.setattr(vectors, "COMMON_SHARE", 0.0)
    assert ANSWER not in nearest(handbook, [QUESTION], 5)


def test_what_is_common_is_counted_in_what_may_be_read_alone(handbook: Vectors) -> None:
    some = handbook.among([0, 1, ANSWER])
    alone = made([(0.9, 0.1, 0.0), (0.9, 0.1, 1 / 400), (0.3, 0.0, 0.8)], [0, 1, ANSWER])
    assert some.common == pytest.approx(alone.common, abs=1e-6)
    assert nearest(some, [QUESTION], 3) == pytest.approx(nearest(alone, [QUESTION], 3), abs=1e-6)


def test_of_many_passages_the_mean_is_that_of_all(monkeypatch: Any) -> None:
    monkeypatch.setattr(vectors, "_CHUNK", 7)
    rows: NDArray[np.float64] = np.random.default_rng(5).normal(size=(50, 3)).clip(-1, 1)
    every = made([tuple(row) for row in rows], list(range(50)))
    unit = every.rows / np.linalg.norm(every.rows.astype(float), axis=1, keepdims=True)
    assert every.common == pytest.approx(unit.mean(axis=0), abs=1e-5)
