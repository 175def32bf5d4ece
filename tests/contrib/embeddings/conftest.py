"""Fixtures: embeddings switched on, by an encoder for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import pytest

from assistant.contrib.embeddings.services import choice, filling
from assistant.contrib.embeddings.services.changes import FILL_JOB
from assistant.contrib.embeddings.services.ranking import rank_each
from assistant.models import Job, Tenant
from assistant.services.knowledge.rankings import Ranked
from assistant.services.knowledge.reach import whole_reach
from tests.contrib.embeddings.encoding import LettersEncoder
from tests.services.knowledge.lines import forget_lines

# Without the extra there is nothing to test.
collect_ignore_glob = [] if find_spec("numpy") else ["test_*.py"]


@pytest.fixture
def letters(settings: Any, db: None) -> Iterator[LettersEncoder]:
    settings.ASSISTANT_EMBEDDINGS = True
    made = LettersEncoder()
    choice.replace_encoders(lambda provider, model: made)
    forget_lines()
    yield made
    choice.replace_encoders(None)
    from assistant.contrib.embeddings.services import vectors

    vectors.forget()
    forget_lines()


def rank(*, tenant_id: int, queries: Sequence[str], limit: int) -> Ranked | None:
    """Return what is nearest to the wordings of one question."""
    return rank_each(reach=whole_reach(tenant_id), questions=[queries], limit=limit)[0]


def embed(tenant: Tenant) -> None:
    """Do the tenant's job as a server does, on the test's own connection."""
    while (batch := filling.next_batch(tenant_id=tenant.pk)) is not None:
        encoded = asyncio.run(batch.encoder.encode([text for _, text in batch.passages]))
        filling.store(tenant_id=tenant.pk, batch=batch, encoded=encoded)
    Job.objects.filter(tenant=tenant, name=FILL_JOB).delete()
