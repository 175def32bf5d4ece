"""Clients with a subdomain and a schema name each, as in django-tenants, and the rows that all share one schema."""

from django.conf import settings
from django.contrib.contenttypes.fields import GenericForeignKey
from django.contrib.contenttypes.models import ContentType
from django.db import models


class Client(models.Model):
    schema_name = models.CharField(max_length=63, unique=True)
    staff = models.ManyToManyField(settings.AUTH_USER_MODEL)


class Domain(models.Model):
    domain = models.CharField(max_length=253, unique=True)
    tenant = models.ForeignKey(Client, on_delete=models.CASCADE, related_name="domains")


class Ticket(models.Model):
    """Names its client by the schema, not by the primary key."""

    schema = models.ForeignKey(Client, to_field="schema_name", on_delete=models.CASCADE)


class Reply(models.Model):
    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE)


class UrgentReply(Reply):
    """Inherits the table of another model."""

    hours = models.IntegerField(default=1)


class Mark(models.Model):
    content_type = models.ForeignKey(ContentType, on_delete=models.CASCADE)
    object_id = models.PositiveIntegerField()
    content_object = GenericForeignKey()


class Plan(models.Model):
    name = models.CharField(max_length=20)
