"""Folders and websites whose files and pages become documents, and what is known of each file and page."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.knowledge import Document
from assistant.models.tenants import Tenant

# Characters of an address of a page, or of the path of a file within its folder.
MAX_ADDRESS = 600


class Source(models.Model):
    """A folder of the server, or a website, that is read again after a number of hours."""

    class Kind(models.TextChoices):
        WEBSITE = "website", _("Website")
        FOLDER = "folder", _("Folder of the server")

    class State(models.TextChoices):
        NEVER = "never", _("Not read yet")
        DONE = "done", _("Read")
        PARTLY = "partly", _("Read in part")
        FAILED = "failed", _("Not read")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices, default=Kind.WEBSITE)
    place = models.CharField(
        _("place"),
        max_length=500,
        help_text=_(
            "The address of the first page, as https://example.com/handbook/: pages below its folder are read that it "
            "leads to. Or the absolute path of a folder of the server."
        ),
    )
    collection = models.CharField(
        _("collection"),
        max_length=100,
        blank=True,
        help_text=_("The name of a collection that its documents are put into. Empty: new ones are for everybody."),
    )
    is_trusted = models.BooleanField(
        _("trusted"),
        default=False,
        help_text=_("Its authors may instruct the assistant: finding its documents does not mark a conversation."),
    )
    every_hours = models.PositiveSmallIntegerField(
        _("hours between readings"), default=24, validators=[MinValueValidator(1), MaxValueValidator(720)]
    )
    max_pages = models.PositiveSmallIntegerField(
        _("most pages"),
        default=200,
        validators=[MinValueValidator(1), MaxValueValidator(2000)],
        help_text=_("Of a website, or files of a folder."),
    )
    max_depth = models.PositiveSmallIntegerField(
        _("depth"),
        default=5,
        validators=[MinValueValidator(0), MaxValueValidator(20)],
        help_text=_("How many links a page may be away from the first one, or a file how many folders."),
    )
    is_on = models.BooleanField(
        _("switched on"), default=True, help_text=_("Off: it is not read any more, and its documents stay as they are.")
    )
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.NEVER, editable=False)
    problem = models.CharField(_("problem"), max_length=300, blank=True, editable=False)
    began_at = models.DateTimeField(_("began at"), null=True, editable=False)
    ended_at = models.DateTimeField(_("last read"), null=True, editable=False)
    next_at = models.DateTimeField(_("next reading"), null=True, editable=False, help_text=_("Empty: at once."))
    report = models.JSONField(_("report"), default=dict, editable=False)

    class Meta:
        verbose_name = _("folder or website")
        verbose_name_plural = _("folders and websites")
        ordering = ["tenant_id", "place"]
        constraints = [models.UniqueConstraint(fields=["tenant", "place"], name="one_source_per_place")]

    def __str__(self) -> str:
        return self.place


class SourcePage(models.Model):
    """A page of a website or a file of a folder, and the document that it became."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="pages")
    address = models.CharField(max_length=MAX_ADDRESS)
    depth = models.PositiveSmallIntegerField(default=0)
    document = models.OneToOneField(Document, null=True, on_delete=models.SET_NULL, related_name="+")
    validator = models.CharField(
        max_length=100, blank=True, help_text=_("The ETag, or of a file its size and its moment of change.")
    )
    modified = models.CharField(max_length=100, blank=True, help_text=_("The Last-Modified of a page."))
    digest = models.CharField(max_length=64, blank=True, help_text=_("Of the content that the document was made of."))
    read_as = models.CharField(
        max_length=64, blank=True, help_text=_("What the source was set to when the document was stored.")
    )
    is_outdated = models.BooleanField(
        default=False, help_text=_("It has changed, and the document could not be replaced.")
    )
    missing_since = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("page of a source")
        verbose_name_plural = _("pages of sources")
        constraints = [models.UniqueConstraint(fields=["source", "address"], name="one_page_per_address")]

    def __str__(self) -> str:
        return self.address
