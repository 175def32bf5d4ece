"""A warehouse for several companies."""

from django.conf import settings
from django.contrib.contenttypes.fields import GenericForeignKey
from django.contrib.contenttypes.models import ContentType
from django.db import models


class Company(models.Model):
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=80)


class Seat(models.Model):
    company = models.ForeignKey(Company, on_delete=models.CASCADE, related_name="seats")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    role = models.CharField(max_length=10, choices=[("member", "Member"), ("admin", "Admin")])

    class Meta:
        unique_together = [("company", "user")]


class Country(models.Model):
    """The same for all."""

    name = models.CharField(max_length=40)


class Customer(models.Model):
    company = models.ForeignKey(Company, on_delete=models.CASCADE)
    country = models.ForeignKey(Country, null=True, on_delete=models.SET_NULL)
    name = models.CharField(max_length=80)
    email = models.EmailField()
    api_key = models.CharField(max_length=40)


class Item(models.Model):
    company = models.ForeignKey(Company, on_delete=models.CASCADE)
    sku = models.CharField(max_length=20, unique=True)
    title = models.CharField(max_length=80)
    pieces = models.PositiveIntegerField(default=0)
    is_public = models.BooleanField(default=False)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(pieces__lte=100_000), name="few_pieces")]


class StandingShelves(models.Manager):
    def get_queryset(self):
        return super().get_queryset().filter(removed_on=None)


class Shelf(models.Model):
    """Those that were removed are found by nobody."""

    removed_on = models.DateField(null=True)
    company = models.ForeignKey(Company, on_delete=models.CASCADE)
    label = models.CharField(max_length=20)
    items = models.ManyToManyField(Item, related_name="shelves")

    objects = StandingShelves()


class Delivery(models.Model):
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE)
    driver = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    item = models.ForeignKey(Item, on_delete=models.CASCADE)
    number = models.IntegerField(unique=True)
    weight = models.DecimalField(max_digits=8, decimal_places=2)
    status = models.CharField(max_length=10, choices=[("open", "Open"), ("sent", "Sent")])
    note = models.TextField(blank=True)
    left_on = models.DateField()
    arrived_on = models.DateField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(arrived_on__gte=models.F("left_on")), name="arrives_after")
        ]


class Paper(models.Model):
    """A bill of lading."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE)
    file = models.FileField(upload_to="papers")


class Note(models.Model):
    """Pinned to anything of a company."""

    content_type = models.ForeignKey(ContentType, on_delete=models.CASCADE)
    object_id = models.PositiveIntegerField()
    about = GenericForeignKey()
    text = models.CharField(max_length=100)
