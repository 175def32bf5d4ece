"""Which places may be read: public websites, and folders below those that the deployment names."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from assistant.contrib.sources.models import Source
from assistant.services.knowledge.places import has_places, place_names
from assistant.services.tenancy.url_guard import tenant_guard
from assistant.toolkit.guards.url_guard import UnsafeUrl

# Sources of a tenant.
MAX_SOURCES = 50


class PlaceRefused(ValueError):
    """A source may not be so; the message is for people, `field` is the field that it is about."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def check_source(source: Source) -> None:
    """Check a source before it is stored, and write its place as it is kept.

    Raises:
        PlaceRefused: it may not be read, there is no collection of that name, or the tenant has too many sources.
    """
    if source.collection and (not has_places() or source.collection not in place_names(source.tenant)):
        raise PlaceRefused("collection", _("There is no collection “%(name)s”.") % {"name": source.collection})
    if Source.objects.filter(tenant_id=source.tenant_id).exclude(pk=source.pk).count() >= MAX_SOURCES:
        told = _("A tenant has at most %(most)s folders and websites.")
        raise PlaceRefused("place", told % {"most": MAX_SOURCES})
    if source.kind == Source.Kind.FOLDER:
        allowed_folder(source.place)
        source.place = source.place.rstrip("/") or "/"
        return
    address = source.place.partition("#")[0]
    try:
        tenant_guard().check(address)
    except UnsafeUrl as exc:
        raise PlaceRefused("place", str(exc)) from exc
    source.place = address if urlsplit(address).path else f"{address}/"


def allowed_folder(place: str) -> Path:
    """Return the real path of a folder.

    Raises:
        PlaceRefused: it is not there, or not below one of `ASSISTANT_SOURCE_FOLDERS`, by a symbolic link either.
    """
    path = Path(place)
    if path.is_absolute() and "\x00" not in place:
        folder = path.resolve()
        if folder.is_dir() and is_allowed(folder):
            return folder
    # One sentence for all of them: a tenant learns nothing of other folders.
    raise PlaceRefused("place", _("There is no such folder below those that this server lets be read."))


def is_allowed(path: Path) -> bool:
    """Return whether a real path is one of the deployment's folders, or below one."""
    return any(path.is_relative_to(Path(root).resolve()) for root in settings.ASSISTANT_SOURCE_FOLDERS)
