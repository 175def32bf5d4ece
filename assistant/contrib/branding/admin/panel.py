"""The tab of a tenant's brand: a form of its texts and colour, and of the images that are uploaded or removed."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.urls import URLPattern, path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.merging import LastSave, MergingForm, last_entry
from assistant.contrib.branding.models import MAX_IMAGE_BYTES, Brand
from assistant.contrib.branding.services.images import ImageRefused, check_image
from assistant.contrib.branding.services.saving import save_brand
from assistant.contrib.panel.admin.tenants.tabs import AUDIT, AddedTab, Tab, add_tab
from assistant.contrib.panel.admin.tenants.tenant_pages import Page, tab_view
from assistant.models import Tenant

BRAND = Tab("brand", _("Brand"))
IMAGES = ("logo", "favicon")
_FILES_HELP = _("PNG, JPEG, WebP or ICO, at most 256 KiB and 1,024 pixels.")


class BrandForm(MergingForm):
    """A brand. An image is kept unless another is chosen or it is removed."""

    logo_file = forms.FileField(label=_("Logo"), required=False, help_text=_FILES_HELP)
    remove_logo = forms.BooleanField(label=_("Remove the logo"), required=False)
    favicon_file = forms.FileField(label=_("Favicon"), required=False, help_text=_FILES_HELP)
    remove_favicon = forms.BooleanField(label=_("Remove the favicon"), required=False)

    class Meta:
        model = Brand
        fields = ("name", "accent", "greeting", "ai_notice", "ai_notice_place", "is_on_sign_in", "shows_model")

    def last_save(self) -> LastSave | None:
        return last_entry(tenant=self.instance.tenant, actions=["brand.set"])

    def clean_logo_file(self) -> bytes | None:
        return self._content("logo_file")

    def clean_favicon_file(self) -> bytes | None:
        return self._content("favicon_file")

    def _content(self, name: str) -> bytes | None:
        file: UploadedFile[bytes] | None = self.cleaned_data[name]
        if file is None:
            return None
        # One byte more than allowed is enough to refuse it.
        data: bytes = file.read(MAX_IMAGE_BYTES + 1)
        try:
            check_image(data)
        except ImageRefused as exc:
            raise forms.ValidationError(str(exc)) from None
        return data

    def images(self) -> dict[str, bytes | None]:
        """Return the images to replace, and None for those to remove."""
        values = self.cleaned_data
        found = {name: values[f"{name}_file"] for name in IMAGES}
        return {name: data for name, data in found.items() if data or values[f"remove_{name}"]}


def brand_form(request: HttpRequest, tenant: Tenant) -> dict[str, Any]:
    """Return the form of the tab, and the images that there are."""
    brand = Brand.objects.filter(tenant=tenant).first() or Brand(tenant=tenant)
    is_sent = request.method == "POST"
    form = BrandForm(request.POST if is_sent else None, request.FILES if is_sent else None, instance=brand)
    return {
        "form": form,
        "texts": [form[name] for name in ("name", "accent", "greeting", "ai_notice", "ai_notice_place")],
        "switches": [form[name] for name in ("is_on_sign_in", "shows_model")],
        "images": [(form[f"{name}_file"], form[f"remove_{name}"], getattr(brand, f"{name}_id")) for name in IMAGES],
    }


def save_brand_form(request: HttpRequest, tenant: Tenant, form: BrandForm) -> str:
    """Store the brand, and return what was done."""
    changed = [name for name in form.changed_data if name in form.Meta.fields]
    images = form.images()
    if not changed and not images:
        return gettext("Nothing was changed.")
    save_brand(brand=form.instance, images=images, actor=request.user, changed=changed)
    return gettext("The brand is saved. Pages show it when they are loaded next.")


def _urls(page: Any) -> list[URLPattern]:
    tab = Page(brand_form, save_brand_form, merges=True)
    view = tab_view(page, BRAND, tab, "admin/assistant/branding/brand.html")
    return [path("<path:object_id>/brand/", page.admin_site.admin_view(view), name="assistant_tenant_brand")]


add_tab(AddedTab(BRAND, after=AUDIT, urls=_urls))
