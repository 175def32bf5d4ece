"""The files of a person's conversations are deleted with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from assistant.contrib.event_files import apps
from assistant.contrib.event_files.log import SUFFIX
from assistant.services.privacy.erasure import erase_user
from tests.base import Cast
from tests.factories import make_conversation

CANARY = "canary"


@pytest.mark.django_db
def test_event_logs_on_the_disk_are_deleted(cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "ASSISTANT_REDIS_URL", "")
    monkeypatch.setattr(apps, "events_folder", lambda: tmp_path)
    mine = make_conversation(cast.alice, cast.support)
    hers = make_conversation(cast.amy, cast.support)
    for thread in (mine, hers):
        (tmp_path / f"{thread.pk}{SUFFIX}").write_text(CANARY)
    erase_user(user=cast.alice, actor=cast.root)
    assert [path.stem for path in tmp_path.iterdir()] == [str(hers.pk)]
