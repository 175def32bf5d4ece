"""Firms have a schema each; who works for them is in the public one."""

from django.conf import settings
from django.db import models
from django_tenants.models import DomainMixin, TenantMixin


class Firm(TenantMixin):
    name = models.CharField(max_length=100)
    auto_create_schema = True

    def __str__(self):
        return self.name


class Domain(DomainMixin):
    pass


class Employment(models.Model):
    firm = models.ForeignKey(Firm, on_delete=models.CASCADE, related_name="employments")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    is_manager = models.BooleanField(default=False)

    def __str__(self):
        return f"{self.person} at {self.firm}"
