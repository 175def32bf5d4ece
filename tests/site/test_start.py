"""A process imports slow modules that it does not need at first only after it has begun to serve."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from django.conf import settings

LATE = (
    "openai", "anthropic", "google.genai", "aiohttp", "mcp", "mcp_types", "pypdf", "daphne", "twisted",
    "drf_spectacular",
)  # fmt: skip
# Modules that are imported by the warm-up, concurrently with the first requests.
WARM = ("openai", "aiohttp", "mcp", "mcp_types")
SERVING = f"""
import asyncio, gc, json, sys
import config.asgi
before = [name for name in {LATE!r} if name in sys.modules]

async def serve():
    told, sent = asyncio.Queue(), asyncio.Queue()
    lifespan = asyncio.create_task(config.asgi.application({{"type": "lifespan"}}, told.get, sent.put))
    await told.put({{"type": "lifespan.startup"}})
    assert (await sent.get())["type"] == "lifespan.startup.complete"
    while not gc.get_freeze_count():
        await asyncio.sleep(0.01)
    await told.put({{"type": "lifespan.shutdown"}})
    assert (await sent.get())["type"] == "lifespan.shutdown.complete"
    await lifespan

asyncio.run(asyncio.wait_for(serve(), 60))
missing = [name for name in {WARM!r} if name not in sys.modules]
print(json.dumps([before, missing, gc.get_freeze_count() > len(gc.get_objects())]))
"""
JOBS = """
import json
import {application}
from assistant.services.jobs import jobs
print(json.dumps(sorted(jobs._handlers)))
"""
TOOLS = "import json, sys; import tools; print(json.dumps([name for name in sys.modules if name in {'django', 'mcp'}]))"


def printed_by(program: str) -> Any:
    environment = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=settings.BASE_DIR,
        env=environment
        | {
            "ENV_FILE": os.devnull,
            "SECRET_KEY": "x" * 60,
            "DATABASE_URL": "sqlite://:memory:",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_process_serves_before_it_imports_what_only_runs_need() -> None:
    before, missing, is_frozen = printed_by(SERVING)
    assert before == []
    assert missing == []
    assert is_frozen, "full passes of the garbage collector go through all that was imported"


def test_tools_alone_need_no_django() -> None:
    assert printed_by(TOOLS) == []


def test_workers_do_the_jobs_that_the_web_schedules() -> None:
    of_web = printed_by(JOBS.format(application="config.asgi"))
    assert "alarm.ring" in of_web
    django = "django; django.setup()\nimport "
    assert printed_by(JOBS.format(application=f"{django}assistant.asgi.worker")) == of_web
