"""Seconds of reading are limited, and a file that took too much is not read again."""

from __future__ import annotations

from collections import Counter

import pytest
from pytest_django import Settings

from assistant.contrib.file_reading.reader_seconds import ReaderSeconds
from assistant.services.files.kinds import FileRefused, detect
from assistant.services.files.reader_turns import Uploader
from assistant.services.files.reading import read_text
from tests.services.files import hostile_office, samples
from tests.services.knowledge.hostile_pdf import HOSTILE


def read(content: bytes, uploader: Uploader) -> str:
    return read_text(content, detect(content, ""), uploader=uploader).text


def refusal(content: bytes, uploader: Uploader) -> str:
    with pytest.raises(FileRefused) as refused:
        read(content, uploader)
    return str(refused.value)


def test_seconds_of_reading_are_counted_for_a_person_visitors_together_and_a_tenant() -> None:
    seconds = ReaderSeconds(30)
    ann = Uploader("acme", 1, is_visitor=True)
    bob = Uploader("acme", 2, is_visitor=True)
    member = Uploader("acme", 3)
    other = Uploader("globex", 1, is_visitor=True)
    assert seconds.count(ann, 61) and not seconds.wait(bob)
    assert seconds.count(bob, 60) and seconds.wait(Uploader("acme", 4, is_visitor=True)) and not seconds.wait(member)
    assert seconds.count(Uploader("acme"), 200) and seconds.wait(member) and not seconds.wait(other)


def test_a_person_whose_files_took_too_long_waits_and_nobody_else_does(settings: Settings) -> None:
    settings.ASSISTANT_FILE_READ_SECONDS = 1.25
    ann = Uploader("turns", 1)
    bob = Uploader("turns", 2)
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
