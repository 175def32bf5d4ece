"""Makes the embedded model's server process tools and prompts in advance, and saves the result for the next start."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import urllib.request
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assistant.core.llm.protocol import ModelError, ModelRequest
from assistant.providers.embedded.model import EmbeddedModel, prepared
from assistant.providers.openai_wire.request_body import request_body

logger = logging.getLogger(__name__)

# Conversations that the server keeps in memory at once.
SLOTS = 4
MAX_STATES = 2 * SLOTS
# How many are processed in advance, one for each slot. They begin alike, and what they share is processed once.
READ_AHEAD = SLOTS
_HTTP_SECONDS = 60.0


async def read_ahead(address: str, expected: Sequence[ModelRequest], *, states: Path, key: str) -> None:
    """Process likely beginnings of conversations, one in each slot, or restore them from the file of an earlier start.

    Args:
        address: the server's URL without a path.
        expected: the beginnings; the first `READ_AHEAD` of them are processed.
        states: the directory of the files.
        key: everything else that the files depend on; another key means another file.
    """
    model = EmbeddedModel(address)
    try:
        first: Path | None = None
        for slot, request in enumerate(expected[:READ_AHEAD]):
            state = states / f"{_fingerprint(request, key)}.state"
            if await asyncio.to_thread(state.is_file):
                await asyncio.to_thread(_slot, address, slot, "restore", state.name)
                await asyncio.to_thread(state.touch)
            else:
                if first is not None:  # the server goes on where this request differs from the first
                    await asyncio.to_thread(_slot, address, slot, "restore", first.name)
                await _read(model, slot, request)
                await asyncio.to_thread(_slot, address, slot, "save", state.name)
            first = first or state
    except (ModelError, OSError) as exc:
        logger.warning("The embedded model could not process prompts in advance: %s", exc)
    await asyncio.to_thread(_delete_old_states, states)


def _fingerprint(request: ModelRequest, key: str) -> str:
    body = request_body(prepared(request), model="", strict=False, with_usage=False)
    return hashlib.sha256(key.encode() + body).hexdigest()[:16]


def _delete_old_states(states: Path) -> None:
    for old in sorted(states.glob("*.state"), key=lambda file: file.stat().st_mtime)[:-MAX_STATES]:
        old.unlink(missing_ok=True)


async def _read(model: EmbeddedModel, slot: int, request: ModelRequest) -> None:
    options = {**request.options, "max_tokens": 1, "id_slot": slot}
    async for _ in model.stream(replace(request, options=options)):
        pass


def _slot(address: str, slot: int, action: str, name: str) -> None:
    request = urllib.request.Request(  # noqa: S310 - our own server
        f"{address}/slots/{slot}?action={action}",
        data=json.dumps({"filename": name}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=_HTTP_SECONDS) as response:  # noqa: S310  # nosec B310
        response.read()
