"""Makes a conversation temporary with its first message, where its assistant may have such conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.utils.translation import gettext as _

from assistant.contrib.temporary.apps import NAME
from assistant.models import Assistant, Conversation
from assistant.services.errors import Refused
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.tenancy import audit_trail
from assistant.services.toolpolicy.policy import EffectiveTool


def parse(value: Any) -> bool:
    """Return the caller's `temporary`. Raises `Refused` for anything but true and false."""
    if not isinstance(value, bool):
        raise Refused("invalid_input", _("`temporary` is true or false."))
    return value


def no_extensions(key: RunKey, assistant: Assistant, tools: Sequence[EffectiveTool]) -> Sequence[RunExtension[Any]]:
    """Return nothing: that an assistant has the addition only allows the option."""
    return ()


def mark(
    key: RunKey, assistant: Assistant, tools: Sequence[EffectiveTool], is_wanted: bool
) -> Sequence[RunExtension[Any]]:
    """Mark the conversation of its first run as temporary, in the transaction that opens the run.

    That there was one is recorded for the tenant, and nothing of what is said in it.

    Raises:
        Refused: the assistant may have none, or the conversation is kept already.
    """
    if not is_wanted:
        return ()
    if NAME not in assistant.extensions:
        raise Refused("invalid_input", _("This assistant has no temporary conversations."))
    rows = Conversation.objects.filter(pk=key.conversation_id, tenant_id=key.tenant_id)
    if key.number == 1:
        rows.update(is_temporary=True)
        audit_trail.record(
            actor=get_user_model()._base_manager.get(pk=key.user_id),
            action="conversation.temporary",
            target=f"assistant {assistant.slug}",
            tenant=assistant.tenant,
        )
    elif not rows.filter(is_temporary=True).exists():
        raise Refused("invalid_input", _("This conversation is kept already; a new one can be temporary."))
    return ()
