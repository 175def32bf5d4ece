"""What checks of outages ask of a site beside its chats: whether an answer is stored, and what `/readyz` says."""

from __future__ import annotations

import json
from urllib.error import HTTPError
from urllib.request import urlopen

from benchmarks.resilience.reconnecting_client import Turn
from benchmarks.resilience.sites import Server, Site


def is_whole(turn: Turn, answer: str) -> bool:
    """Return whether the client saw the whole answer, each event once, and its end."""
    return turn.end is not None and turn.end["type"] == "RUN_FINISHED" and turn.shown == answer and not turn.missing


def is_stored(site: Site, turn: Turn, answer: str) -> bool:
    """Return whether the answer is in the database, once and completely."""
    rows = site.database.rows(
        "SELECT content FROM assistant_message WHERE conversation_id = %s AND role = 'assistant'",
        turn.given["threadId"],
    )
    return rows == [(answer,)]


def readiness(server: Server, part: str) -> str:
    """Return what `/readyz` says of a part of the deployment."""
    try:
        with urlopen(f"{server.url}/readyz", timeout=30) as answer:
            said = json.load(answer)
    except HTTPError as exc:
        said = json.load(exc)
    return str(said["checks"].get(part))
