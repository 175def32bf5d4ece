"""The scripts' catalogues, as servers send them."""

from __future__ import annotations

import httpx2
import pytest

from assistant.services.languages import catalogue_url, catalogue_version
from assistant.staticfiles import IMMUTABLE
from tests.live import Server

pytestmark = [pytest.mark.server, pytest.mark.django_db]


def test_a_version_of_a_catalogue_never_changes(uvicorn_server: Server) -> None:
    address = f"{uvicorn_server.url}{catalogue_url('de')}"
    right = httpx2.get(address, headers={"Accept-Encoding": "gzip"})
    assert (right.headers["Cache-Control"], right.headers["Content-Encoding"]) == (IMMUTABLE, "gzip")
    assert right.headers["Content-Type"].startswith("text/javascript")
    assert right.headers["Access-Control-Allow-Origin"] == "*"
    assert "Wie kann ich helfen?" in right.text
    for other in (address.replace(catalogue_version("de"), "older"), address.partition("?")[0]):
        assert "immutable" not in httpx2.get(other).headers["Cache-Control"]
