"""Whether this deployment sends e-mail, and the messages that it sends."""

from __future__ import annotations

import logging
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string

logger = logging.getLogger(__name__)


def is_mail_configured() -> bool:
    """Return whether the project says where its e-mail goes. Django's own default is a server on this host."""
    project: Any = settings
    return any(project.is_overridden(name) for name in ("EMAIL_HOST", "EMAIL_BACKEND"))


def send(*, to: str, template: str, **context: Any) -> bool:
    """Send a message with the subject and text of the templates `template`; return whether it could be sent."""
    subject = " ".join(render_to_string(f"assistant/mail/{template}_subject.txt", context).split())
    text = render_to_string(f"assistant/mail/{template}.txt", context)
    try:
        return send_mail(subject, text, None, [to]) == 1
    except (SMTPException, OSError):
        # Without the address: it is personal.
        logger.exception("An e-mail (%s) could not be sent", template)
        return False
