"""Sites with trees of pages, as Wagtail and Django CMS have them."""

from django.conf import settings
from django.db import models


class Site(models.Model):
    slug = models.SlugField(unique=True)
    editors = models.ManyToManyField(settings.AUTH_USER_MODEL)

    def __str__(self):
        return self.slug


class Topic(models.Model):
    """The same for all sites."""

    name = models.CharField(max_length=40)

    def __str__(self):
        return self.name


class LivePages(models.Manager):
    def get_queryset(self):
        return super().get_queryset().filter(live=True)


class Page(models.Model):
    """A page of a site, of any kind."""

    site = models.ForeignKey(Site, on_delete=models.CASCADE)
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="children")
    path = models.CharField(max_length=100, unique=True, help_text="Four digits for each page on the way")
    depth = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=100)
    live = models.BooleanField(default=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    objects = models.Manager()
    published = LivePages()

    class Meta:
        ordering = ["path"]

    def __str__(self):
        return self.title


class Event(Page):
    """A page about something that takes place."""

    starts_on = models.DateField()
    seats = models.PositiveIntegerField()
    price = models.DecimalField(max_digits=8, decimal_places=2)
    topic = models.ForeignKey(Topic, null=True, on_delete=models.SET_NULL)
    door_code = models.CharField(max_length=10, default="1234")
    stream_key = models.CharField(max_length=20, default="hidden")
