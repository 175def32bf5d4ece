"""Notifies the open connections of a member, in all processes, that something of theirs has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from assistant.services.eventlog.control_messages import on_control_message
from assistant.toolkit.context import UserId
from assistant.toolkit.per_loop import PerLoop

# The first word of the messages to other processes. They name the tenant, the subject and the member, and nothing of
# what changed.
WORD = "member"
Listener = Callable[[], object]
Publish = Callable[[str], Coroutine[Any, Any, None]]


@dataclass(slots=True)
class _Registry:
    """The listeners of one event loop by tenant, subject and member, and what sends a message to other processes."""

    listeners: dict[tuple[int, str, str], set[Listener]] = field(default_factory=dict)
    loop: asyncio.AbstractEventLoop | None = None
    publish: Publish | None = None
    sending: set[asyncio.Task[None]] = field(default_factory=set)


_registries = PerLoop(_Registry)


def connect(publish: Publish) -> None:
    """Use `publish` to notify other processes of the changes that this one makes. Called on the server's event loop."""
    registry = _registries.get()
    registry.loop, registry.publish = asyncio.get_running_loop(), publish


def add_listener(*, tenant_id: int, user_id: UserId, about: str, listener: Listener) -> Callable[[], None]:
    """Call `listener` on this event loop when something of a member has changed; return what removes it.

    Args:
        about: the subject, a word such as `alarms`; other changes do not concern the listener.
    """
    listeners = _registries.get().listeners
    whose = (tenant_id, about, str(user_id))
    listeners.setdefault(whose, set()).add(listener)

    def remove() -> None:
        same = listeners.get(whose, set())
        same.discard(listener)
        if not same:
            listeners.pop(whose, None)

    return remove


def notify(*, tenant_id: int, user_id: UserId, about: str) -> None:
    """Call the listeners of a member in all processes, once the current transaction is committed. May be lost."""
    transaction.on_commit(lambda: _tell(tenant_id, about, str(user_id)))


def notify_from_loop(*, tenant_id: int, user_id: UserId, about: str) -> None:
    """Call the listeners of a member in all processes; the change is stored. Called on the server's event loop."""
    _tell_from(_registries.get(), tenant_id, about, str(user_id))


def _tell(tenant_id: int, about: str, user_id: str) -> None:
    for registry in _registries.values():
        if registry.loop is not None:
            # The loop belongs to a server that is just closing.
            with suppress(RuntimeError):
                registry.loop.call_soon_threadsafe(_tell_from, registry, tenant_id, about, user_id)


def _tell_from(registry: _Registry, tenant_id: int, about: str, user_id: str) -> None:
    _call(registry, tenant_id, about, user_id)
    if registry.publish is not None:
        task = asyncio.create_task(registry.publish(f"{WORD} {tenant_id} {about} {user_id}"), name="member-notice")
        registry.sending.add(task)
        task.add_done_callback(registry.sending.discard)


def _call(registry: _Registry, tenant_id: int, about: str, user_id: str) -> None:
    for listener in list(registry.listeners.get((tenant_id, about, user_id), ())):
        listener()


@on_control_message(WORD)
def _on_message(rest: str) -> None:
    tenant_id, _, subject = rest.partition(" ")
    about, _, user_id = subject.partition(" ")
    if tenant_id.isdecimal():
        _call(_registries.get(), int(tenant_id), about, user_id)
