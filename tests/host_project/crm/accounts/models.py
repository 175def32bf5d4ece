"""Accounts are this project's tenants: numbered by UUID, with seats for people, and invoices."""

import uuid

from django.conf import settings
from django.db import models


class Account(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    subdomain = models.CharField(max_length=30, unique=True)
    company = models.CharField(max_length=100)
    is_paying = models.BooleanField(default=True)

    def __str__(self):
        return self.company


class Seat(models.Model):
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="seats")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    is_manager = models.BooleanField(default=False)


class Invoice(models.Model):
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="invoices")
    number = models.PositiveIntegerField()
    total = models.DecimalField(max_digits=10, decimal_places=2)
