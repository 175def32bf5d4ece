"""Sessions in browsers."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.fields import EncryptedTextField

MAX_USER_AGENT = 300


class BrowserSession(models.Model):
    """A session of a person, whom it belongs to in all tenants: a row of no tenant.

    Without an IP address: a place that is computed of one is wrong as often as right, and the hour says more.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="+"
    )
    # Encrypted: who reads a session's key is signed in as its person.
    session_key = EncryptedTextField()
    user_agent = models.CharField(_("browser"), max_length=MAX_USER_AGENT, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    last_seen_at = models.DateTimeField(_("last seen"), help_text=_("To the hour."))

    class Meta:
        verbose_name = _("session in a browser")
        verbose_name_plural = _("sessions in browsers")
        indexes = [
            models.Index(fields=["user", "-last_seen_at"], name="browser_sessions_of_a_user"),
            models.Index(fields=["last_seen_at"], name="browser_sessions_by_age"),
        ]

    def __str__(self) -> str:
        return str(self.pk)
