"""Which extensions a tenant's run has: decided once, from the input and the tenant, without entering any other."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from assistant.models import Assistant
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.ignored_input import ignored_input
from assistant.services.runs.extensions.kept_requests import kept_requests
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.runs.run_input import RunInput


def extensions_of(
    *, key: RunKey, assistant: Assistant, run_input: RunInput | None = None
) -> tuple[RunExtension[Any], ...]:
    """Return the extensions of a run, in the order in which they are called.

    Args:
        run_input: the client's; None for a run whose caller keeps the history.
    """
    found: list[RunExtension[Any]] = []
    if run_input is not None and (
        run_input.has_instructions or run_input.client_tools or run_input.context or run_input.state
    ):
        found += ignored_input(run_input, assistant)
    if settings.DEBUG or assistant.tenant.keeps_requests_until is not None:
        found += kept_requests(key=key, tenant=assistant.tenant)
    return tuple(found)
