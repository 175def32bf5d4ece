"""The tenants of a landlord, in a model of that name, numbered otherwise than the assistant's."""

from django.conf import settings
from django.contrib.contenttypes.fields import GenericForeignKey
from django.contrib.contenttypes.models import ContentType
from django.db import models


class Tenant(models.Model):
    slug = models.SlugField(unique=True)
    users = models.ManyToManyField(settings.AUTH_USER_MODEL)


class Lease(models.Model):
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE)


class Rent(models.Model):
    lease = models.ForeignKey(Lease, on_delete=models.CASCADE)


class Receipt(models.Model):
    rent = models.OneToOneField(Rent, on_delete=models.CASCADE, primary_key=True)


class Remark(models.Model):
    content_type = models.ForeignKey(ContentType, on_delete=models.CASCADE)
    object_id = models.PositiveIntegerField()
    content_object = GenericForeignKey()


class Meter(models.Model):
    """Has a number of this name that is no tenant's."""

    tenant_id = models.IntegerField()
