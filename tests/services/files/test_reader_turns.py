"""Readers of files are shared: tenants take turns, nobody has all readers, and seconds of reading are limited."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from pytest_django import Settings

from assistant.services.files.kinds import FileRefused, detect
from assistant.services.files.reader_turns import FairPlaces, ReaderSeconds, Uploader
from assistant.services.files.reading import read_text
from tests.services.files import hostile_office, samples
from tests.services.knowledge.hostile_pdf import HOSTILE


def read(content: bytes, uploader: Uploader) -> str:
    return read_text(content, detect(content, ""), uploader=uploader)


def refusal(content: bytes, uploader: Uploader) -> str:
    with pytest.raises(FileRefused) as refused:
        read(content, uploader)
    return str(refused.value)


def test_no_tenant_holds_all_places_and_tenants_take_turns() -> None:
    places = FairPlaces(2)
    acme = [places.ask(Uploader("acme")) for _ in range(3)]
    assert [turn.done() for turn in acme] == [True, False, False]
    globex = [places.ask(Uploader("globex")) for _ in range(2)]
    assert [turn.done() for turn in globex] == [True, False]
    places.release(Uploader("acme"))
    assert [turn.done() for turn in acme] == [True, True, False]
    places.release(Uploader("globex"))
    assert globex[1].done() and not acme[2].done()


def test_one_place_is_everybodys_in_turn() -> None:
    places = FairPlaces(1)
    turns = {name: places.ask(Uploader(name[0])) for name in ("a1", "a2", "b1")}
    assert [name for name, turn in turns.items() if turn.done()] == ["a1"]
    places.release(Uploader("a"))
    assert turns["a2"].done() or turns["b1"].done()
    places.release(Uploader("a" if turns["a2"].done() else "b"))
    assert all(turn.done() for turn in turns.values())


def test_a_member_comes_before_the_visitors_of_their_tenant_who_wait() -> None:
    places = FairPlaces(1)
    visitors = [places.ask(Uploader("acme", number, is_visitor=True)) for number in (1, 2, 3)]
    member = places.ask(Uploader("acme", 4))
    other = places.ask(Uploader("globex", 5, is_visitor=True))
    places.release(Uploader("acme", 1, is_visitor=True))
    # Members come first among their own tenant alone: tenants still take turns.
    assert member.done() and not visitors[1].done() and not other.done()
    places.release(Uploader("acme", 4))
    assert other.done() and not visitors[1].done()
    places.release(Uploader("globex", 5, is_visitor=True))
    assert [turn.done() for turn in visitors] == [True, True, False]


def test_visitors_leave_a_place_of_their_tenant_for_its_members() -> None:
    places = FairPlaces(3)
    visitors = [places.ask(Uploader("acme", number, is_visitor=True)) for number in (1, 2)]
    assert [turn.done() for turn in visitors] == [True, False]
    assert places.ask(Uploader("acme", 3)).done()
    places.release(Uploader("acme", 1, is_visitor=True))
    assert visitors[1].done()
    places.release(Uploader("acme", 2, is_visitor=True))
    third = places.ask(Uploader("acme", 4, is_visitor=True))
    assert third.done() and not places.ask(Uploader("acme", 5, is_visitor=True)).done()


async def test_who_stops_waiting_for_a_place_keeps_none() -> None:
    places = FairPlaces(1)
    first = places.ask(Uploader("acme"))

    async def wait() -> None:
        async with places.held_in_loop(Uploader("globex")):
            pass

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert first.done()
    places.release(Uploader("acme"))
    assert places.ask(Uploader("initech")).done()


def test_seconds_of_reading_are_counted_for_a_person_visitors_together_and_a_tenant() -> None:
    seconds = ReaderSeconds(30)
    ann, bob = Uploader("acme", 1, is_visitor=True), Uploader("acme", 2, is_visitor=True)
    member, other = Uploader("acme", 3), Uploader("globex", 1, is_visitor=True)
    assert seconds.count(ann, 61) and not seconds.wait(bob)
    assert seconds.count(bob, 60) and seconds.wait(Uploader("acme", 4, is_visitor=True)) and not seconds.wait(member)
    assert seconds.count(Uploader("acme"), 200) and seconds.wait(member) and not seconds.wait(other)


def test_a_person_whose_files_took_too_long_waits_and_nobody_else_does(settings: Settings) -> None:
    settings.ASSISTANT_FILE_READ_SECONDS = 1.25
    ann, bob = Uploader("turns", 1), Uploader("turns", 2)
    for number in range(3):
        assert "takes too long" in refusal(HOSTILE["forms"]() + b"%" * number, ann)
    assert "have taken much time to read" in refusal(samples.PDF, ann)
    assert "Turn the valve twice." in read(samples.PDF, bob)


def test_a_file_that_took_too_long_is_refused_at_once_the_next_time(settings: Settings, counted: Counter[str]) -> None:
    settings.ASSISTANT_FILE_READ_SECONDS = 1.5
    content = HOSTILE["forms"]() + b"%known"
    assert "takes too long" in refusal(content, Uploader("first", 1))
    # Without a place or a second of reading left, only what is known about it can answer.
    second = Uploader("second", 1)
    for number in range(3):
        refusal(HOSTILE["forms"]() + b"%" * (10 + number), second)
    assert "have taken much time" in refusal(samples.PDF, second)
    before = counted["slow"]
    assert "takes too long" in refusal(content, second)
    assert counted["slow"] == before + 1


@pytest.mark.parametrize("name", ["unpacked_word", "many_cells"])
def test_a_small_file_that_unpacks_to_very_much_is_refused_before_it_is_read(settings: Settings, name: str) -> None:
    content = hostile_office.HOSTILE[name]()
    assert len(content) < 200_000
    assert "unpacks to more than can be read" in refusal(content, Uploader("growing"))


def test_what_hides_its_growth_among_other_parts_is_refused_too(settings: Settings) -> None:
    document = hostile_office.docx("<w/>" + " " * 60_000_000, other=samples.PDF * 2000)
    assert "unpacks to more than can be read" in refusal(document, Uploader("growing"))
