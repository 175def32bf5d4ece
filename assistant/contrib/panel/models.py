"""What the panel stores: the views of lists that people have saved."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

# Characters.
MAX_NAME = 60
MAX_QUERY = 2_000
# Views that a person may save of one list.
MAX_VIEWS = 30


class SavedView(models.Model):
    """A list's filters, search, order and columns under a name: of one person, whom it shows no more than before.

    A row of no tenant: lists show rows of all tenants that somebody may see.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="+"
    )
    page = models.CharField(_("page"), max_length=100, help_text=_("The label of the list's model."))
    name = models.CharField(_("name"), max_length=MAX_NAME)
    query = models.CharField(_("query"), max_length=MAX_QUERY, help_text=_("What the list's address says."))

    class Meta:
        verbose_name = _("saved view")
        verbose_name_plural = _("saved views")
        ordering = ["name", "pk"]
        constraints = [models.UniqueConstraint(fields=["user", "page", "name"], name="panel_one_view_per_name")]

    def __str__(self) -> str:
        return self.name
