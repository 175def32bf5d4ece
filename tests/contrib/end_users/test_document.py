"""What docs/widget.md says: its commands do it, and its numbers are the code's."""

from __future__ import annotations

import posixpath
import re
import shlex
from io import StringIO

import httpx2
import pytest
from django.core.management import CommandError, call_command

from assistant.contrib.end_users.api.tokens import MAX_CONTEXT
from assistant.contrib.end_users.models import WidgetOrigin
from assistant.contrib.end_users.services.tokens import MAX_SECONDS, MIN_SECONDS
from assistant.models import ApiKey
from tests.base import Cast
from tests.docs.snippets import ROOT, blocks
from tests.live import Server

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
        run(f"python manage.py assistant_allow_origin {words}")


def test_the_numbers_are_the_codes() -> None:
    text = DOCUMENT.read_text()
    assert f"({MIN_SECONDS} to {MAX_SECONDS})" in text
    assert f"at most {MAX_CONTEXT // 1024} KB" in text


def modules() -> list[str]:
    """The widget's files, those that it loads when it needs them too, but for those that draw formulas."""
    folders = [ROOT / app / "static/assistant" for app in ("assistant", "assistant/contrib/end_users")]
    pending = ["widget.js"]
    seen = set()
    while pending:
        name = posixpath.normpath(pending.pop())
        if name not in seen:
            seen.add(name)
            text = next(folder / name for folder in folders if (folder / name).exists()).read_text()
            found = re.findall(r'(?:from |import\()"([^"]+)"', text)
            pending += [posixpath.join(posixpath.dirname(name), imported) for imported in found]
    return sorted(name for name in seen if not name.startswith("vendor/") and name != "js/draw/maths.js")


def test_the_widget_is_as_small_as_the_document_says(uvicorn_server: Server) -> None:
    assert {"widget.js", "js/thread.js", "widget/media.js"} <= set(modules())
    raw = sent = 0
    for name in modules():
        answer = httpx2.get(f"{uvicorn_server.url}/static/assistant/{name}", headers={"Origin": "https://a.example"})
        assert answer.status_code == 200 and answer.headers["Access-Control-Allow-Origin"] == "*"
        raw += len(answer.content)
        sent += answer.num_bytes_downloaded + sum(len(name) + len(value) + 4 for name, value in answer.headers.raw)
    text = " ".join(DOCUMENT.read_text().split())
    said = re.search(r"are (\d+) KB at most, in ([\w-]+) files; a browser is sent (\d+) KB at most", text)
    assert said is not None and (said[2], len(modules())) == ("forty-two", 42)
    assert raw <= int(said[1]) * 1000, raw
    assert sent <= int(said[3]) * 1000, sent
