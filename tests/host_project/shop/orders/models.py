"""A shop's orders: companies numbered by UUID, whose people sign in with an address."""

import uuid

from django.conf import settings
from django.db import models


class Company(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(unique=True)
    billing_code = models.CharField(max_length=40, default="")

    def __str__(self):
        return self.slug


class Seat(models.Model):
    company = models.ForeignKey(Company, on_delete=models.CASCADE, related_name="seats")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="seats")
    role = models.CharField(max_length=10, default="member")


class Country(models.Model):
    """Everybody's."""

    code = models.CharField(max_length=2, unique=True)
    name = models.CharField(max_length=50)

    def __str__(self):
        return self.name


class Customer(models.Model):
    """Somebody who buys from the company."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    company = models.ForeignKey(Company, on_delete=models.CASCADE)
    name = models.CharField(max_length=100)
    email = models.EmailField()
    country = models.ForeignKey(Country, null=True, on_delete=models.PROTECT)
    portal_token = models.CharField(max_length=40, default="")
    credit_note = models.TextField(default="", help_text="What sales thinks of them")

    def __str__(self):
        return self.name


class LiveOrders(models.Manager):
    def get_queryset(self):
        return super().get_queryset().filter(is_deleted=False)


class Order(models.Model):
    """An order of a customer."""

    class Status(models.TextChoices):
        OPEN = "open", "Waiting for payment"
        PAID = "paid", "Paid"
        SENT = "sent", "On its way"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    company = models.ForeignKey(Company, on_delete=models.CASCADE)
    customer = models.ForeignKey(Customer, null=True, on_delete=models.SET_NULL)
    number = models.PositiveIntegerField(help_text="As printed on the bill")
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    total = models.DecimalField(max_digits=10, decimal_places=2)
    is_gift = models.BooleanField(default=False)
    placed_at = models.DateTimeField(db_index=True)
    due_on = models.DateField(null=True)
    comment = models.TextField(default="")
    seller = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    margin = models.DecimalField(max_digits=10, decimal_places=2, default=0)
    api_key = models.CharField(max_length=40, default="")
    is_deleted = models.BooleanField(default=False)

    objects = LiveOrders()

    class Meta:
        ordering = ["-placed_at"]
        indexes = [models.Index(fields=["company", "placed_at"]), models.Index(fields=["company", "status"])]

    def __str__(self):
        return f"{self.number} of {self.customer}"

    def get_absolute_url(self):
        return f"/orders/{self.pk}/"


class Line(models.Model):
    """An article of an order."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    article = models.CharField(max_length=50)
    pieces = models.IntegerField(default=1)

    def __str__(self):
        return f"{self.pieces} {self.article} for {self.order}"


class Payment(models.Model):
    """Holds the company's key without being related to it."""

    payer = models.UUIDField(db_index=True)
    amount = models.IntegerField()
    iban = models.CharField(max_length=34, default="")


class Articles(models.QuerySet):
    def published(self):
        return self.filter(is_published=True)


class Article(models.Model):
    """A page of the company's handbook."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    company = models.ForeignKey(Company, on_delete=models.CASCADE)
    title = models.CharField(max_length=100)
    body = models.TextField()
    is_published = models.BooleanField(default=True)
    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, help_text="For them alone"
    )

    objects = Articles.as_manager()

    def __str__(self):
        return self.title


class Supplier(models.Model):
    """Somebody who sells to the company; no code exposes it."""

    company = models.ForeignKey(Company, on_delete=models.CASCADE)
    name = models.CharField(max_length=50)
    city = models.CharField(max_length=50)
    phone = models.CharField(max_length=30, default="")
    api_token = models.CharField(max_length=40, default="")

    def __str__(self):
        return self.name


class KnownCustomer(Customer):
    """A customer by another name."""

    class Meta:
        proxy = True


class Wholesaler(Customer):
    """A customer in a table of its own besides."""

    discount = models.PositiveSmallIntegerField(default=0)


class Voucher(models.Model):
    """Leads to customers by the models that extend theirs."""

    company = models.ForeignKey(Company, on_delete=models.CASCADE)
    holder = models.ForeignKey(KnownCustomer, on_delete=models.CASCADE, related_name="vouchers")
    giver = models.ForeignKey(Wholesaler, null=True, on_delete=models.SET_NULL, related_name="given_vouchers")
    worth = models.IntegerField(default=0)


class Campaign(models.Model):
    """Customers that are written to together."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    company = models.ForeignKey(Company, on_delete=models.CASCADE)
    name = models.CharField(max_length=50)
    begins_on = models.DateField()
    customers = models.ManyToManyField(Customer, related_name="campaigns")

    def __str__(self):
        return self.name


class Stray(models.Model):
    """Forgotten in the description of tenants."""

    text = models.CharField(max_length=20)
