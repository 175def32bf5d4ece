"""Stores what runs were configured with, once for all runs of a tenant that had the same."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from django.db import transaction

from assistant.core.values.timeline import Timeline
from assistant.models import RunConfiguration
from assistant.services.runs.extensions.client_tools import ClientTools
from assistant.services.runs.opening.run_setup import RunSetup

# A process stores a configuration again after this time, so that `used_at` says when it was last used: retention
# deletes none that was used within a day.
STORED_SECONDS = 3600.0
# Configurations that a process remembers to have stored.
MAX_REMEMBERED = 2_000
# Tools of one configuration, and characters of the options of one run.
MAX_TOOLS = 1_000
MAX_OPTIONS = 2_000
# Names of values in a tool context.
MAX_CONTEXT_KEYS = 100
# NUL and surrogates, as JSON escapes.
_UNSTORABLE = re.compile(r"\\u(0000|d[89a-f])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a run was configured with; `digest` is the SHA-256 of the content."""

    digest: str
    content: Mapping[str, Any]


def configuration_of(setup: RunSetup) -> Configuration:
    """Return the configuration of a run, without its prompt, secrets and what its client chose for it alone."""
    settings = setup.settings
    answering = setup.answering
    choices = {"provider": answering.provider, "fallback": answering.fallback}
    content = {
        **{
            role: {"name": choice.name, "source": choice.source, "model": choice.model}
            for role, choice in choices.items()
            if choice is not None
        },
        "limits": msgspec.to_builtins(settings.limits),
        "history": {"tokens": settings.history_tokens, "messages": settings.history_messages},
        "on_error": settings.on_error,
        "extensions": [one.name for one in setup.extensions if one.is_configured],
        "tools": [
            {
                "name": entry.tool.name,
                "policy": entry.policy,
                "rule": entry.rule,
                **({"outage": entry.outage} if entry.outage else {}),
            }
            for entry in setup.tools[:MAX_TOOLS]
        ],
    }
    return Configuration(hashlib.sha256(msgspec.json.encode(content)).hexdigest(), content)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What is kept of a run besides its messages and calls: its configuration, its times and what was chosen for it."""

    configuration: Configuration
    timeline: Mapping[str, Any]


def record_of(setup: RunSetup, extra: Mapping[str, Any], timeline: Timeline) -> RunRecord:
    """Return the record of a run that ends now, with options of the model, the client's tools and names of the context.

    Args:
        extra: the values that the program gives tools; only their names are kept.
    """
    options = json.dumps(dict(setup.settings.options), default=str) if setup.settings.options else "{}"
    # Options of clients may be long, or hold characters that PostgreSQL does not store.
    is_storable = len(options) <= MAX_OPTIONS and not _UNSTORABLE.search(options)
    client_tools: list[str] = []
    for extension in setup.extensions:
        # The check of an abstract class is a call of its own for each.
        if type(extension) is ClientTools:
            client_tools = [tool.name[:128] for tool in extension.client_tools[:MAX_TOOLS]]
    found = {
        "options": json.loads(options) if is_storable else sorted(setup.settings.options)[:MAX_TOOLS],
        "client_tools": client_tools,
        "context": sorted(str(name)[:128] for name in extra)[:MAX_CONTEXT_KEYS],
    }
    chosen = {name: value for name, value in found.items() if value}
    return RunRecord(configuration_of(setup), {**timeline.as_json(), **chosen})


# When this process has stored a tenant's configuration, by the process's clock.
_stored: dict[tuple[int, str], float] = {}


def store_configuration(*, tenant_id: int, configuration: Configuration, now: datetime) -> None:
    """Store a configuration, if this process has not done so within the hour. Within a transaction."""
    key = (tenant_id, configuration.digest)
    if time.monotonic() - _stored.get(key, float("-inf")) < STORED_SECONDS:
        return
    row = RunConfiguration(
        tenant_id=tenant_id, digest=configuration.digest, content=dict(configuration.content), used_at=now
    )
    RunConfiguration.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["tenant", "digest"], update_fields=["used_at"]
    )
    transaction.on_commit(lambda: _remember(key))


def _remember(key: tuple[int, str]) -> None:
    if len(_stored) >= MAX_REMEMBERED:
        _stored.clear()
    _stored[key] = time.monotonic()
