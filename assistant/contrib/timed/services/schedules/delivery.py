"""The e-mail with the answer to a scheduled question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model

from assistant.contrib.timed.models import Schedule, ScheduleRun
from assistant.contrib.timed.services.schedules.schedules import moment_in_zone
from assistant.models import Message
from assistant.services.tenancy import mail
from assistant.services.tenancy.person_settings import language_of

MAIL_TRIES = 3
# Characters of an answer in an e-mail; the conversation has all of it.
MAX_ANSWER = 20_000


@dataclass(frozen=True, slots=True)
class DueMail:
    """An e-mail with an answer: to whom, in which language, and what it says; its key is the same at each attempt."""

    due_id: int
    to: str
    key: str
    language: str
    context: dict[str, Any]


def due_mail(due: ScheduleRun) -> DueMail | None:
    """Return the e-mail of a moment that has ended; None if there is none, or it was sent."""
    row = due.schedule
    is_wanted = row.delivery == Schedule.Delivery.EMAIL and due.delivered_at is None and due.ended_at is not None
    to = str(getattr(row.user, get_user_model().get_email_field_name(), "") or "")
    if not is_wanted or due.conversation_id is None or not to or not mail.is_mail_configured():
        return None
    answers = Message.objects.filter(
        conversation_id=due.conversation_id,
        conversation__tenant_id=due.tenant_id,
        run__run_id=due.run_id,
        role=Message.Role.ASSISTANT,
    )
    texts = [text for text in answers.order_by("position").values_list("content", flat=True) if text]
    context: dict[str, Any] = {
        "name": row.name,
        "tenant": row.tenant.name,
        "assistant": row.assistant.name,
        "prompt": row.prompt,
        "answer": "\n\n".join(texts)[:MAX_ANSWER],
        "problem": due.problem,
        "at": moment_in_zone(row, due.due_at),
        "zone": row.timezone,
    }
    return DueMail(due.pk, to, f"schedule-run-{due.pk}", language_of(row.user), context)


def send_mail(due: DueMail) -> bool:
    """Send an e-mail; return whether it could be sent. Does not use the database."""
    return mail.send(to=due.to, template="schedule", key=due.key, language=due.language, **due.context)
