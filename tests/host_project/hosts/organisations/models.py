"""Organisations numbered by UUID, whose members sign in with an address."""

import uuid

from django.conf import settings
from django.contrib.contenttypes.fields import GenericForeignKey
from django.contrib.contenttypes.models import ContentType
from django.db import models


class Organisation(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(unique=True)


class Member(models.Model):
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="members")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")


class Order(models.Model):
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE)
    total = models.IntegerField(default=1)


class Line(models.Model):
    """Leads to its organisation through its order."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, null=True)


class Note(models.Model):
    """Leads to its organisation through whatever it is about."""

    kind = models.ForeignKey(ContentType, on_delete=models.CASCADE)
    key = models.CharField(max_length=40)
    about = GenericForeignKey("kind", "key")


class Payment(models.Model):
    """Holds the organisation's key without being related to it."""

    payer = models.UUIDField()


class Country(models.Model):
    """Everybody's."""

    name = models.CharField(max_length=20)


class Stray(models.Model):
    """Forgotten in the description of tenants."""

    text = models.CharField(max_length=20)
