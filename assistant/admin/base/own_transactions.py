"""Lets the pages of the admin begin and end their transactions themselves, whatever `ATOMIC_REQUESTS` says."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.urls import URLPattern

from assistant.services.db.own_transactions import use_own_transactions


class OwnTransactions(admin.ModelAdmin[Any]):
    """A page whose views are outside of the requests' transactions, unless a project's page extends it.

    Django's own forms are saved in one transaction either way.
    """

    @property
    def urls(self) -> list[URLPattern]:
        found = super().urls
        if type(self).__module__.startswith("assistant."):
            use_own_transactions(found)
        return found
