"""ag-ui-validate, which nobody here wrote, asks the live door and finds nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from assistant.models import Provider, TenantLimits
from tests.agui_clients.door import RUNS
from tests.api.calling import key_of
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("case", ["an answer", "a refused run"])
def test_its_live_mode_passes(
    case: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello there.")
    if case == "a refused run":
        TenantLimits.objects.create(tenant=cast.acme, tenant_messages_per_day=0)
    url = uvicorn_server.url + RUNS.format(tenant="acme")
    header = f"Authorization: Bearer {key_of(cast.acme, cast.alice)}"
    command = [Path(sys.executable).with_name("ag-ui-validate"), url, "--header", header, "--max-warnings", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
