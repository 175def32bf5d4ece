"""Readers of files are shared: tenants take turns, and nobody has all readers."""

from __future__ import annotations

import asyncio

from assistant.services.files.reader_turns import FairPlaces, Uploader


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
