"""How a tenant's chat and widget look: an optional app says it, and they look neutral without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol, cast

from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class BrandValues:
    """What pages show of a brand; empty where it says nothing.

    Attributes:
        accent: the colour as rrggbb.
        logo: the path of the image, as `favicon` is.
        colours: the shades of the accent by their names, of the themes `light` and `dark`.
    """

    name: str = ""
    accent: str = ""
    greeting: str = ""
    ai_notice: str = ""
    ai_notice_place: str = "start"
    logo: str = ""
    favicon: str = ""
    shows_model: bool = False
    colours: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class BrandSource(Protocol):
    """A module that reads brands."""

    def brand_of(self, tenant_id: int) -> BrandValues:
        """Return the brand of a tenant whose member or end user asks."""
        ...

    def brand_of_sign_in(self, request: HttpRequest) -> BrandValues:
        """Return the brand for the sign-in page: of the tenant that the address names, or whose page led here."""
        ...


NO_BRAND = BrandValues()
_source: str | None = None


def read_brands_with(source: str | None) -> None:
    """Have pages show brands.

    Args:
        source: the dotted name of a `BrandSource`, which is imported with the first page; None ends it.
    """
    global _source  # noqa: PLW0603 - of the whole process
    _source = source


def brand_of(*, tenant_id: int) -> BrandValues:
    """Return the brand of a tenant whose member or end user asks; `NO_BRAND` without one."""
    return NO_BRAND if _source is None else cast(BrandSource, import_module(_source)).brand_of(tenant_id)


def brand_of_sign_in(request: HttpRequest) -> BrandValues:
    """Return the brand for the sign-in page; `NO_BRAND` without one."""
    return NO_BRAND if _source is None else cast(BrandSource, import_module(_source)).brand_of_sign_in(request)
