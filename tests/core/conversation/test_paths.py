"""The paths through a conversation's tree."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assistant.core.conversation.paths import Path, Tree

LINEAR = Tree({}, {}, 4)


def places(path: Path, end: int) -> list[int]:
    return [place for place in range(end) if path.has(place)]


def grown(tree: Tree, messages: int = 2) -> Tree:
    """The tree with this many messages more than `tree`, which a branch has just begun."""
    return Tree(tree.branches, tree.chosen, tree.end - 1 + messages)


def test_a_conversation_without_branches_is_shown_whole() -> None:
    assert LINEAR.path().is_whole
    assert Tree({}, {}, 0).path().is_whole
    assert LINEAR.path().stop is None
    assert LINEAR.versions(LINEAR.path()) == {}


def test_a_changed_question_is_shown_in_place_of_the_first() -> None:
    tree = grown(LINEAR.branching(2))
    assert tree.path() == Path(((0, 2), (4, None)))
    assert tree.showing(2).path() == Path(((0, 4),))
    version = tree.versions(tree.path())[4]
    assert (version.number, version.of, version.before, version.after) == (2, 2, 2, None)


def test_the_first_question_can_be_changed() -> None:
    tree = grown(LINEAR.branching(0))
    assert tree.path() == Path(((4, None),))
    assert tree.showing(1).path() == Path(((0, 4),))
    assert tree.until(0) == Path(())


def test_what_was_shown_below_a_branch_is_shown_again() -> None:
    tree = grown(grown(LINEAR.branching(2)).branching(5))  # another question, and another answer to it
    shown = tree.showing(5)
    assert shown.path() == Path(((0, 2), (4, 6)))
    assert shown.showing(2).showing(4).path() == shown.path()


def test_a_branch_without_a_stored_message_is_not_shown() -> None:
    tree = LINEAR.branching(3)
    assert tree.path() == Path(((0, 3), (4, None)))
    assert Tree.of(*tree.stored(), 4).path().is_whole


def test_the_newest_messages_of_a_path() -> None:
    path = Path(((0, 2), (4, 6), (8, None)))
    assert [path.newest(count, 10) for count in (1, 2, 3, 5, 6, 7)] == [9, 8, 5, 1, 0, 0]


@given(st.lists(st.tuples(st.sampled_from(["follow", "show"]), st.integers(0, 60), st.integers(1, 3)), max_size=25))
def test_a_path_is_a_messages_line_of_ancestors(steps: list[tuple[str, int, int]]) -> None:
    tree, parents = Tree({}, {}, 1), [-1]

    def line(place: int) -> list[int]:
        return [] if place < 0 else [*line(parents[place]), place]

    for step, anywhere, count in steps:
        place = anywhere % tree.end
        if step == "show":
            tree = tree.showing(place)
            assert place in places(tree.path(), tree.end)
        else:
            assert places(tree.until(place + 1), tree.end) == line(place)
            parents += [place, *range(tree.end, tree.end + count - 1)]
            is_next = place == tree.end - 1
            tree = (
                Tree(tree.branches, tree.showing(place).chosen, tree.end + count)
                if is_next
                else grown(tree.branching(place + 1), count)
            )
            assert places(tree.path(), tree.end)[-1] == tree.end - 1
        shown = places(tree.path(), tree.end)
        assert shown == line(shown[-1])
        assert shown[-1] not in parents
        assert tree.path() == Tree.of(*tree.stored(), tree.end).path()
