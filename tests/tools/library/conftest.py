"""The two rivals' members as tool contexts, and the demo's rows."""

from __future__ import annotations

import pytest

from assistant.management.demo_tenants import load_demo_documents
from assistant.toolkit import ToolContext
from tests.base import Cast
from tests.tools.library.calling import context_of
from tools.demo import load_demo


@pytest.fixture
def at_acme(cast: Cast) -> ToolContext:
    """Alice's, of Acme."""
    return context_of(cast.acme, cast.alice)


@pytest.fixture
def at_globex(cast: Cast) -> ToolContext:
    """Mallory's, of Globex."""
    return context_of(cast.globex, cast.mallory)


@pytest.fixture
def demo(cast: Cast) -> None:
    load_demo(cast.acme, cast.globex)
    for tenant in (cast.acme, cast.globex):
        load_demo_documents(tenant)
