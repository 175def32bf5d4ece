"""Counts of recent sign-ins, by digests of user names and addresses, and the devices of users. Rows of no tenant."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class SignInCount(models.Model):
    """One counter, deleted an hour after its end: by `free_at`, if nothing more is tried, the limit is whole again."""

    key = models.CharField(max_length=64, primary_key=True)
    free_at = models.DateTimeField(db_index=True)
    # When a refusal was recorded last, so that the audit trail has one entry a minute of what is refused.
    recorded_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.key


class SignInDevice(models.Model):
    """A browser that has signed in with a user's password, by a digest of what its cookie says."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=64)
    used_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = _("sign-in device")
        verbose_name_plural = _("sign-in devices")
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_row_a_device")]

    def __str__(self) -> str:
        return self.key
