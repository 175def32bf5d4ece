"""What docs/widget.md says: its commands do it, and its numbers are the code's."""

from __future__ import annotations

import re
import shlex
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from assistant.api.endusers import MAX_CONTEXT
from assistant.models import ApiKey, WidgetOrigin
from assistant.services.endusers import MAX_SECONDS, MIN_SECONDS
from tests.base import Cast
from tests.docs.snippets import ROOT, blocks

DOCUMENT = ROOT / "docs/widget.md"
pytestmark = pytest.mark.django_db


def run(line: str) -> str:
    out = StringIO()
    _python, _manage, *words = shlex.split(line)
    call_command(*words, stdout=out)
    return out.getvalue()


def test_the_commands_allow_an_origin_and_make_a_key(cast: Cast) -> None:
    (block,) = blocks(DOCUMENT, "sh")
    for _ in range(2):
        lines = [run(line) for line in block.text.splitlines()]
    assert WidgetOrigin.objects.get().origin == "http://localhost:9000"
    assert lines[-1].splitlines()[-1].startswith("ta_")
    assert ApiKey.objects.latest("pk").scopes == ["end_users"]


@pytest.mark.parametrize("words", ["nobody support https://a.example", "acme none https://a.example", "acme support x"])
def test_a_command_that_is_wrong_says_so(words: str, cast: Cast) -> None:
    with pytest.raises(CommandError):
        run(f"python manage.py allow_origin {words}")


def test_the_numbers_are_the_codes() -> None:
    text = DOCUMENT.read_text()
    assert f"({MIN_SECONDS} to {MAX_SECONDS})" in text
    assert f"at most {MAX_CONTEXT // 1024} KB" in text


def test_the_widget_is_small() -> None:
    folder = ROOT / "assistant/static/assistant"
    seen: set[str] = set()
    pending = [folder / "widget.js"]
    while pending:
        path = pending.pop().resolve()
        if str(path) not in seen:
            seen.add(str(path))
            pending += [path.parent / name for name in re.findall(r'from "([^"]+)"', path.read_text())]
    assert len(seen) > 5
    assert sum(Path(path).stat().st_size for path in seen) < 40_000
