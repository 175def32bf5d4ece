"""Deletes the rows of sessions that have ended by themselves."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from assistant.contrib.browser_sessions.middleware import NOTED_EVERY
from assistant.contrib.browser_sessions.models import BrowserSession
from assistant.services.jobs.recurring import recurs

DAY = 24 * 3600.0


@recurs("browser_sessions.ended", seconds=DAY / 4)
def delete_ended() -> int:
    """Delete the rows of sessions that nobody can use any more: last seen longer ago than a session lasts."""
    lifetime = timedelta(seconds=settings.SESSION_COOKIE_AGE) + 2 * NOTED_EVERY
    _, deleted = BrowserSession.objects.filter(last_seen_at__lt=timezone.now() - lifetime).delete()
    return sum(deleted.values())
