"""Fills the database and prints the time and queries of pages of the control panel, for `benchmarks.rows.panel`."""

from __future__ import annotations

import json
import sys
import time
from statistics import median

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext


def main() -> None:
    """Print a JSON object: by the page's name its milliseconds and number of queries.

    The arguments are the pages (JSON, addresses by name), tenants, days and rounds. An address that ends with
    `?tenant=` and a slug is asked with that tenant picked.
    """
    pages, tenants, days, rounds = json.loads(sys.argv[1]), *map(int, sys.argv[2:5])
    call_command("migrate", verbosity=0)
    call_command("assistant_seed", tenants=tenants, days=days, force=True, verbosity=0)
    boss = get_user_model()._default_manager.create_superuser("boss", password=None)
    client = Client()
    client.force_login(boss)
    print(json.dumps({name: _timed(client, address, rounds) for name, address in pages.items()}))


def _timed(client: Client, address: str, rounds: int) -> tuple[float, int]:
    path, _, slug = address.partition("?tenant=")
    client.post("/admin/pick-tenant/", {"tenant": slug})
    with CaptureQueriesContext(connection) as queries:
        if client.get(path).status_code != 200:
            raise RuntimeError(f"{path} was not answered")
        count = len(queries)  # the next request empties the connection's list
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        client.get(path)
        times.append((time.perf_counter() - began) * 1000)
    return median(times), count
