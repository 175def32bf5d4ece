"""The key of a run: its row, its tenant and the process that works on it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from assistant.models import Run
from assistant.models.conversations import client_id_of
from assistant.toolkit.context import UserId


@dataclass(frozen=True, slots=True)
class RunKey:
    """The ids of a run, by which queries about it are filtered, and its owner.

    Attributes:
        number: the run's number within its conversation, from 1.
        client_thread, client_run: AG-UI's threadId and runId, as the client wrote them.
        owner: the id of the process that works on the run.
        reserved: the (tokens, cost) that its quotas reserve for it while it runs; (0, 0) without quotas.
        is_test: whether it tests a prompt, which is counted apart.
        is_stateless: whether the caller keeps the history. Then no approval can be asked for, nothing is summarised.
    """

    pk: int
    number: int
    run_id: str
    tenant_id: int
    user_id: UserId
    assistant_id: int
    conversation_id: uuid.UUID
    owner: str
    began_at: datetime
    reserved: tuple[int, int] = (0, 0)
    is_test: bool = False
    is_stateless: bool = False
    client_thread: str = ""
    client_run: str = ""

    @property
    def thread(self) -> str:
        return str(self.conversation_id)

    @property
    def client_id(self) -> uuid.UUID:
        """The conversation's id as its member knows it."""
        return client_id_of(self.conversation_id, self.client_thread)


def key_of(run: Run, owner: str) -> RunKey:
    """Return the key of a run's row, read with its conversation, for the process `owner`; "" to read only."""
    return RunKey(
        pk=run.pk,
        number=run.number,
        run_id=run.run_id,
        tenant_id=run.tenant_id,
        user_id=run.user_id,
        assistant_id=run.assistant_id,
        conversation_id=run.conversation_id,
        owner=owner,
        began_at=run.started_at,
        reserved=(run.reserved_tokens, run.reserved_cost),
        is_test=run.is_test,
        is_stateless=run.conversation.is_stateless,
        client_thread=run.conversation.thread_key or str(run.conversation_id),
        client_run=run.continues or run.run_id,
    )
