"""Counts of recent sign-ins, by digests of user names and addresses. Rows of no tenant, kept for an hour."""

from __future__ import annotations

from django.db import models


class SignInCount(models.Model):
    """One counter: by `free_at`, if nothing more is tried, the limit is whole again."""

    key = models.CharField(max_length=64, primary_key=True)
    free_at = models.DateTimeField(db_index=True)
    # When a refusal was recorded last, so that the audit trail has one entry a minute of what is refused.
    recorded_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.key
