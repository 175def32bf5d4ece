"""The invoices of a firm, in its own schema: no column says whose they are."""

from django.db import models


class Bill(models.Model):
    number = models.PositiveIntegerField()
    total = models.DecimalField(max_digits=10, decimal_places=2)

    def __str__(self):
        return str(self.number)
