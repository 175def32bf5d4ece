"""The REST API does what its OpenAPI schema says: schemathesis tries to prove the opposite, with all of its checks.

It sends the schema's examples, values at each bound, random ones, and sequences of requests that use each other's
answers, valid and invalid; without credentials, with the wrong method, and as another member of the tenant.
`SCHEMATHESIS_EXAMPLES` sets the number of random requests for each operation.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from assistant.contrib.docs.rest_schema import api_document
from assistant.core.values.events import RunFinished
from assistant.models import Attachment, Provider
from assistant.services.eventlog.frames import as_mapping
from tests.api.calling import key_of
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run
from tests.live import Server

# What the schema says does not depend on the database.
pytestmark = pytest.mark.once

EXAMPLES = os.environ.get("SCHEMATHESIS_EXAMPLES", "2")
# Several, because some requests delete them.
THREADS = [str(uuid.uuid5(uuid.NAMESPACE_URL, f"thread {number}")) for number in range(8)]
KNOWN = {
    "tenant": ["acme"],
    "assistant": ["support"],
    "thread": THREADS,
    "share": THREADS,
    "run_id": [f"run-{number}" for number in range(len(THREADS))],
    "message_id": ["answer"],
    "call_id": ["call_1"],
    "attachment": THREADS,
    "number": [1],
    "schedule": [12],
    "document": [9],
    "collection": [4],
    "label": [3],
    "saved_prompt": [7],
    "tool_request": [7],
}
# 413: what breaks the schema by its length may be too long to be read at all.
CONFIG = """
hooks = "{hooks}"

[auth.wfc]
path = "{credentials}"
peers = ["amy", "alice"]

[cache]
enabled = false

[generation]
deterministic = true
database = "none"

[checks.negative_data_rejection]
expected-statuses = ["4xx"]
"""


def document() -> dict[str, Any]:
    """Return the schema, with ids that exist in place of any that a schema allows."""
    made: dict[str, Any] = json.loads(json.dumps(api_document()))
    for methods in made["paths"].values():
        for operation in methods.values():
            for parameter in operation["parameters"]:
                if parameter["in"] == "path":
                    parameter["schema"] = {"enum": KNOWN[parameter["name"]]}
                elif parameter["name"] == "cursor":
                    parameter["schema"] = {"type": "string", "enum": [""]}
    schemas = made["components"]["schemas"]
    schemas["ConversationInRequest"]["properties"]["assistant"] = {"enum": KNOWN["assistant"]}
    # Cron lines, time zones, moments and numbers of schedules have rules that no schema says (test_schedules.py).
    made["paths"].pop("/api/v1/tenants/{tenant}/schedules/", None)
    # A file can be sent once.
    schemas["RunInRequest"]["properties"]["attachments"]["maxItems"] = 0
    return made


@pytest.fixture
def amys_rows(cast: Cast, provider: Provider) -> None:
    for number, thread in enumerate(THREADS):
        talk = make_conversation(cast.amy, cast.support, title="Refund", pk=thread, run_count=1, message_count=3)
        # Without an ending a stream of its events would wait for one.
        run = make_run(talk, run_id=f"run-{number}", ending=as_mapping(RunFinished(thread, f"run-{number}")))
        make_message(talk, "user", "How long?", message_id="question", run=run)
        make_message(talk, "assistant", "30 days.", message_id="answer", run=run)
        Attachment.objects.create(
            pk=thread, tenant=cast.acme, user=cast.amy, conversation=talk, name="a.txt", kind="text", size=1
        )


@pytest.mark.django_db(transaction=True)
# `make clients-all` sends many more than the suite, for as long as that takes.
@pytest.mark.timeout(600 if int(EXAMPLES) <= 2 else 0)
def test_schemathesis_finds_nothing(uvicorn_server: Server, cast: Cast, amys_rows: None, tmp_path: Path) -> None:
    keys = {user.username: f"Bearer {key_of(cast.acme, user)}" for user in (cast.amy, cast.alice)}
    users = [{"name": name, "fixedHeaders": [{"name": "Authorization", "value": key}]} for name, key in keys.items()]
    credentials, schema, config = (tmp_path / name for name in ("users.json", "schema.json", "schemathesis.toml"))
    credentials.write_text(json.dumps({"auth": users}))
    schema.write_text(json.dumps(document()))
    hooks = "tests.api.schemathesis_hooks"
    config.write_text(CONFIG.format(hooks=hooks, credentials=credentials))
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", str(schema)]
    options = ["--url", uvicorn_server.url, "--checks", "all", "--max-examples", EXAMPLES, "--no-color"]
    done = subprocess.run([*command, *options], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
