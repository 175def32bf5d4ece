"""How a tenant's chat and widget look: name, colour, greeting and images."""

from __future__ import annotations

import uuid

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.tenants import Tenant, validate_same_tenant

# Bytes of an image, and pixels of its longer side.
MAX_IMAGE_BYTES = 256 * 1024
MAX_IMAGE_SIDE = 1024


class BrandImage(models.Model):
    """A logo or favicon. It is never changed: another one is another row, so that browsers may keep it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    media_type = models.CharField(max_length=30)
    data = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("brand image")
        verbose_name_plural = _("brand images")

    def __str__(self) -> str:
        return str(self.pk)


class Brand(models.Model):
    """The brand of a tenant. Empty fields are as without a row."""

    class NoticePlace(models.TextChoices):
        START = "start", _("at the start of each conversation")
        BOX = "box", _("above the message box, all the time")

    tenant = models.OneToOneField(Tenant, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(
        _("product name"), max_length=60, blank=True, help_text=_("Empty: the tenant's name, and ours in titles.")
    )
    accent = models.CharField(
        _("accent colour"),
        max_length=7,
        blank=True,
        validators=[RegexValidator(r"^#[0-9a-fA-F]{6}\Z", _("Enter a colour such as #0f6b5c."))],
        help_text=_("Such as #0f6b5c. Each theme gets a shade of it that can be read."),
    )
    greeting = models.CharField(
        _("greeting"),
        max_length=200,
        blank=True,
        help_text=_("What an empty conversation begins with, in the chat and in the widget."),
    )
    ai_notice = models.CharField(
        _("AI notice"),
        max_length=300,
        blank=True,
        help_text=_("Says that an AI answers. Empty: our sentence, in the reader's language."),
    )
    ai_notice_place = models.CharField(
        _("place of the AI notice"), max_length=5, choices=NoticePlace.choices, default=NoticePlace.START
    )
    logo = models.ForeignKey(BrandImage, null=True, editable=False, on_delete=models.SET_NULL, related_name="+")
    favicon = models.ForeignKey(BrandImage, null=True, editable=False, on_delete=models.SET_NULL, related_name="+")
    is_on_sign_in = models.BooleanField(
        _("on the sign-in page"),
        default=False,
        help_text=_("For whoever is led there from the tenant's pages. It tells strangers that the tenant exists."),
    )
    shows_model = models.BooleanField(
        _("shows who answers"),
        default=False,
        help_text=_("The provider and the model, to all members; admins see them anyway."),
    )

    class Meta:
        verbose_name = _("brand")

    def __str__(self) -> str:
        return self.name or str(self.tenant)

    def clean(self) -> None:
        super().clean()
        validate_same_tenant(self, self.tenant_id, "logo", "favicon")
