"""The server's time for pages of the control panel, with 300 tenants and 60 days of use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.peers import HERE
from benchmarks.report import Line, Section

TENANTS, DAYS, GOAL = 300, 60, 150.0
LISTS = {
    "Tenants": "tenant",
    "Assistants": "assistant",
    "Prompt versions": "promptversion",
    "Tool settings": "toolsetting",
    "Conversations": "conversation",
    "Messages": "message",
    "Runs": "run",
    "Tool calls": "toolcall",
    "Approvals": "approval",
    "Incidents": "incident",
    "Usage": "usageentry",
    "Providers": "provider",
    "Webhooks": "webhook",
    "Jobs": "job",
    "Audit": "auditentry",
}
# The main page of each room, and its lists.
PAGES = {
    "Home": "/admin/",
    "Home of one tenant": "/admin/?tenant=seed-0001",
    **{name: f"/admin/assistant/{model}/" for name, model in LISTS.items()},
    "MCP servers": "/admin/assistant_mcp_servers/mcpserver/",
    "Evaluations": "/admin/assistant_evaluations/evaluation/",
    "Runs of hostile checks": "/admin/assistant_evaluations/hostilecheckrun/",
    "Runs of one tenant": "/admin/assistant/run/?tenant=seed-0001",
    "Board of tools": "/admin/assistant/toolsetting/switchboard/",
    "Board of tools, asking": "/admin/assistant/toolsetting/switchboard/?state=ask",
    "A tool": "/admin/assistant/toolsetting/tool/get_customer/",
    "Spend": "/admin/spend/",
    "Search": "/admin/search/?q=order",
    "Advanced": "/admin/advanced/",
}
# The models can be imported only once Django is set up.
ASK = "import django; django.setup(); from benchmarks.panel_pages import main; main()"


def measure(bench: Bench) -> Iterator[Section]:
    """Fill a database of its own and ask each page as a superuser, in a process without DEBUG."""
    tenants = 10 if bench.quick else TENANTS
    with tempfile.TemporaryDirectory() as folder:
        env = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "ENV_FILE": os.devnull,
            "DEBUG": "false",
            "SECRET_KEY": "only-for-the-benchmark-and-therefore-no-secret-0123456789",
            "ALLOWED_HOSTS": "testserver",
            "INSECURE_HTTP": "true",
            "REDIS_URL": "",
            "DATABASE_URL": f"sqlite:///{Path(folder) / 'db.sqlite3'}",
        }
        asked = [json.dumps(PAGES), str(tenants), str(DAYS), str(bench.rounds)]
        command = [sys.executable, "-c", ASK, *asked]
        told = subprocess.run(command, env=env, cwd=HERE.parent, check=True, capture_output=True, text=True).stdout
    lines = [
        Line(name, milliseconds, "ms", GOAL, beside=f"{queries} queries", is_work=True)
        for name, (milliseconds, queries) in json.loads(told.splitlines()[-1]).items()
    ]
    how = (
        f"`assistant_seed --tenants {tenants} --days {DAYS}` on SQLite; the median of each page, asked in one process."
    )
    yield Section("The control panel", how, lines)
