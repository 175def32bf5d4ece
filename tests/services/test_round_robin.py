"""Keys take turns, however many items one of them has."""

from __future__ import annotations

import pytest

from assistant.services.round_robin import RoundRobin


def filled(**items: int) -> RoundRobin[str, str]:
    queue: RoundRobin[str, str] = RoundRobin()
    for key, count in items.items():
        for number in range(count):
            queue.add(key, f"{key}{number}")
    return queue


def test_keys_take_turns_and_of_one_key_the_first_comes_first() -> None:
    queue = filled(a=3, b=1, c=2)
    assert [queue.pop() for _ in range(len(queue))] == ["a0", "b0", "c0", "a1", "c1", "a2"]
    with pytest.raises(KeyError):
        queue.pop()


def test_a_key_that_comes_late_does_not_wait_for_all_of_another() -> None:
    queue = filled(a=100)
    queue.add("b", "b0")
    assert [queue.pop(), queue.pop()] == ["a0", "b0"]


def test_a_removed_item_ends_the_turn_of_its_key() -> None:
    queue = filled(a=2, b=2)
    assert queue.remove("a", "a1")
    assert not queue.remove("a", "a1")
    assert not queue.remove("c", "c0")
    assert (list(queue), queue.of("a"), queue.of("c"), len(queue)) == (["b", "a"], ("a0",), (), 3)


@pytest.mark.parametrize("item", ["a0", "a2", "b0", "b1", "c0"])
def test_turns_before_an_item_are_those_that_come_before_it(item: str) -> None:
    queue = filled(a=3, b=2, c=1)
    ahead = queue.turns_before(item[0], int(item[1]))
    assert [queue.pop() for _ in range(ahead + 1)][-1] == item
