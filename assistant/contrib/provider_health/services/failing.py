"""Which models leave people without answers now, as this process last read it."""

from __future__ import annotations

from django.utils import timezone

from assistant.contrib.provider_health.services.answers import AskedModel, failing_models, recent_answers
from assistant.services.tenancy.row_scope import all_tenants

_last: frozenset[AskedModel] = frozenset()


@all_tenants()
def read_failing() -> frozenset[AskedModel]:
    """Return the models that are failing, but for those in whose place another one answers; one query."""
    global _last  # noqa: PLW0603 - read by every open chat, which must not ask the database each
    failing = failing_models(recent_answers(timezone.now()))
    _last = frozenset(asked for asked, answers in failing.items() if 2 * answers.failed >= answers.unanswered)
    return _last


def last_read() -> frozenset[AskedModel]:
    """Return what `read_failing` returned last."""
    return _last
