"""Whether this deployment sends e-mail, and the messages that it sends."""

from __future__ import annotations

import logging
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.utils import DNS_NAME
from django.template.loader import render_to_string
from django.utils.translation import override

from assistant.services.tenancy.person_settings import language_of_address

logger = logging.getLogger(__name__)


def is_mail_configured() -> bool:
    """Return whether the project says where its e-mail goes. Django's own default is a server on this host."""
    project: Any = settings
    return any(project.is_overridden(name) for name in ("EMAIL_HOST", "EMAIL_BACKEND"))


def send(*, to: str, template: str, key: str = "", language: str = "", **context: Any) -> bool:
    """Send a message with the subject and text of the templates `template`; return whether it could be sent.

    With `key`, it has the same Message-ID each time, by which mail servers and programs find repeats.

    It is in `language`; without that in the language of the account with this address, or in the active one. Only then
    it uses the database.
    """
    with override(language or language_of_address(to)):
        subject = " ".join(render_to_string(f"assistant/mail/{template}_subject.txt", context).split())
        text = render_to_string(f"assistant/mail/{template}.txt", context)
    try:
        headers = {"Message-ID": f"<{key}@{DNS_NAME}>"} if key else {}
        return EmailMessage(subject, text, None, [to], headers=headers).send() == 1
    except (SMTPException, OSError):
        # Without the address: it is personal.
        logger.exception("An e-mail (%s) could not be sent", template)
        return False
