"""Token buckets of this process: frames, handshakes, MCP requests, and what is rendered.

Limits by client address, and limits for all processes together, belong in the proxy (docs/deploy/nginx.conf).
"""

from __future__ import annotations

import asyncio
import hashlib
from weakref import WeakValueDictionary

from assistant.services.token_bucket import Bucket, Buckets
from assistant.toolkit.context import UserId
from assistant.toolkit.per_loop import PerLoop

# Frames that one connection may send, and all of a member's connections together: a burst, then a number a second.
CONNECTION_BURST, CONNECTION_RATE = 60, 20.0
MEMBER_BURST, MEMBER_RATE = 600, 100.0
REQUEST_BURST, REQUEST_RATE = 300, 30.0
# The burst allows for a backend that opens a thousand connections with one key.
HANDSHAKE_BURST, HANDSHAKE_RATE = 2_000, 50.0
# A client that stops reading keeps the snapshot it is sent in memory.
MAX_SNAPSHOTS_PER_MEMBER = 1
# Characters rendered for all connections of a member: 2 MB at once, then a fifth of a core. Blocks beyond that wait.
RENDER_BURST, RENDER_RATE = 2_000_000, 100_000.0

_frames = Buckets(MEMBER_BURST, MEMBER_RATE)
_handshakes = Buckets(HANDSHAKE_BURST, HANDSHAKE_RATE)
_member_requests = Buckets(REQUEST_BURST, REQUEST_RATE)
_renders = Buckets(RENDER_BURST, RENDER_RATE)
_snapshots: PerLoop[WeakValueDictionary[tuple[int, UserId], asyncio.Semaphore]] = PerLoop(WeakValueDictionary)


def member_bucket(*, tenant_id: int, user_id: UserId) -> Bucket:
    """Return the bucket for the frames of all connections of a member."""
    return _frames.get((tenant_id, user_id))


def take_handshake(credential: str) -> bool:
    """Count a handshake with a key, token or session cookie, valid or not; return False if there were too many."""
    # A digest, because the credential is a secret.
    return _handshakes.get(hashlib.sha256(credential.encode("utf-8", "surrogatepass")).digest()).take()


def take_member_request(*, tenant_id: int, user_id: UserId) -> bool:
    """Count a request of a member at a door that limits them (MCP); return False if there were too many."""
    return _member_requests.get((tenant_id, user_id)).take()


def render_bucket(*, tenant_id: int, user_id: UserId) -> Bucket:
    """Return the bucket for the characters that are rendered for all connections of a member."""
    return _renders.get((tenant_id, user_id))


def snapshot_semaphore(*, tenant_id: int, user_id: UserId) -> asyncio.Semaphore:
    """Return the semaphore, one for each event loop, that limits how many snapshots a member is sent at once."""
    semaphores, key = _snapshots.get(), (tenant_id, user_id)
    semaphore = semaphores.get(key)
    if semaphore is None:
        semaphore = semaphores[key] = asyncio.Semaphore(MAX_SNAPSHOTS_PER_MEMBER)
    return semaphore
