"""A tenant's admin sets its brand, which its chat, its widget and, if wanted, the sign-in page show."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from assistant.contrib.branding.models import Brand, BrandImage
from assistant.contrib.bundles.services.export import bundle_of_tenant, text_of
from assistant.contrib.bundles.services.imports import import_bundle
from assistant.contrib.bundles.services.reading import read_bundle
from assistant.models import AuditEntry, Tenant
from tests.base import Cast
from tests.contrib.branding.test_brand_images import SVG, ico, png
from tests.contrib.end_users.minting import allow, backend

pytestmark = pytest.mark.django_db
TEXTS = {"name": "Acme Desk", "accent": "#8a3a8f", "greeting": "What can we do?", "ai_notice_place": "start"}


def tab(tenant: Tenant) -> str:
    return f"/admin/assistant/tenant/{tenant.pk}/brand/"


def files(**contents: bytes) -> dict[str, SimpleUploadedFile]:
    return {name: SimpleUploadedFile("x.png", data, content_type="image/svg+xml") for name, data in contents.items()}


def save(client: Client, tenant: Tenant, **fields: object) -> bytes:
    return client.post(tab(tenant), {**TEXTS, **fields}, follow=True).content


def chat_of(client: Client, tenant: str = "acme") -> str:
    return client.get(f"/t/{tenant}/").content.decode()


@pytest.fixture
def alices(cast: Cast) -> Client:
    client = Client()
    client.force_login(cast.alice)
    return client


def test_the_chat_shows_the_brand(amys: Client, alices: Client, cast: Cast) -> None:
    save(amys, cast.acme, **files(logo_file=png(), favicon_file=ico()))
    page = chat_of(alices)
    brand = Brand.objects.get(tenant=cast.acme)
    assert all(text in page for text in ("Acme Desk", "What can we do?", "/brand/8a3a8f.css"))
    assert f'src="/t/acme/brand/{brand.logo_id}/"' in page
    assert f'<link rel="icon" href="/t/acme/brand/{brand.favicon_id}/">' in page
    assert "How can" not in page


def test_no_other_tenant_shows_it(amys: Client, cast: Cast) -> None:
    save(amys, cast.acme, **files(logo_file=png()))
    client = Client()
    client.force_login(cast.mallory)
    assert not {word for word in ("Acme", "8a3a8f", "What can we do?") if word in chat_of(client, "globex")}
    image = BrandImage.objects.get()
    assert client.get(f"/t/globex/brand/{image.pk}/").status_code == 404


def test_an_image_is_served_so_that_nothing_in_it_runs(amys: Client, client: Client, cast: Cast) -> None:
    save(amys, cast.acme, **files(logo_file=png()))
    answer = client.get(f"/t/acme/brand/{BrandImage.objects.get().pk}/")
    assert (answer.content, answer["Content-Type"]) == (png(), "image/png")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert "immutable" in answer["Cache-Control"] and not answer.cookies
    Tenant.objects.filter(pk=cast.acme.pk).update(is_active=False)
    assert client.get(f"/t/acme/brand/{BrandImage.objects.get().pk}/").status_code == 404


@pytest.mark.parametrize("data", [SVG, png(4000, 4000), b"GIF89a" + b"x" * 30, png() + b"x" * 300_000])
def test_what_is_no_small_image_is_refused_and_nothing_is_lost(amys: Client, cast: Cast, data: bytes) -> None:
    save(amys, cast.acme, **files(logo_file=png()))
    page = save(amys, cast.acme, name="Other", **files(logo_file=data))
    assert b"errorlist" in page and b'value="Other"' in page
    assert Brand.objects.get().name == "Acme Desk"
    assert bytes(BrandImage.objects.get().data) == png()


def test_an_image_is_replaced_and_removed(amys: Client, cast: Cast) -> None:
    save(amys, cast.acme, **files(logo_file=png()))
    first = BrandImage.objects.get().pk
    save(amys, cast.acme, **files(logo_file=png(9, 9)))
    assert BrandImage.objects.get().pk != first
    save(amys, cast.acme, remove_logo="on")
    assert not BrandImage.objects.exists()
    assert Brand.objects.get().logo is None


def test_it_is_audited(amys: Client, cast: Cast) -> None:
    save(amys, cast.acme, **files(logo_file=png()))
    entry = AuditEntry.objects.get(action="brand.set")
    assert (entry.tenant, entry.actor) == (cast.acme, cast.amy)
    assert entry.details == {"changes": ["name", "accent", "greeting", "logo"]}


@pytest.mark.parametrize("accent", ["red", "#12345", "#1234567", "#12345g", "url(x)"])
def test_a_colour_is_a_colour(amys: Client, cast: Cast, accent: str) -> None:
    assert b"errorlist" in save(amys, cast.acme, accent=accent)
    assert not Brand.objects.exists()


def test_the_style_sheet_of_a_colour_is_for_everybody(client: Client) -> None:
    answer = client.get("/brand/8a3a8f.css")
    assert answer["Content-Type"] == "text/css; charset=utf-8"
    assert b"--accent: light-dark(#8a3a8f" in answer.content
    assert [client.get(f"/brand/{name}.css").status_code for name in ("8A3A8F", "red", "8a3a8f0")] == [404] * 3


def test_who_answers_is_for_admins_unless_the_tenant_says_otherwise(amys: Client, alices: Client, cast: Cast) -> None:
    assert 'id="provider"' in chat_of(amys)
    assert 'id="provider"' not in chat_of(alices)
    save(amys, cast.acme, shows_model="on")
    assert 'id="provider"' in chat_of(alices)


def test_the_widget_gets_the_brand(amys: Client, cast: Cast) -> None:
    save(amys, cast.acme, **files(logo_file=png()))
    allow(cast.support)
    brand = backend(cast)("post", "assistants/support/end-user-tokens/", {"user_id": "c-1"}).json()["brand"]
    assert (brand["name"], brand["greeting"]) == ("Acme Desk", "What can we do?")
    assert brand["logo"] == f"/t/acme/brand/{BrandImage.objects.get().pk}/"
    assert brand["colours"]["light"]["accent"] == "#8a3a8f"


def sign_in_page(query: str) -> str:
    page = Client().get(f"/accounts/login/?{query}").content.decode()
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"|name="next" value="[^"]*"', "", page)


def test_the_sign_in_page_shows_the_brand_if_the_tenant_wants_it(amys: Client, cast: Cast) -> None:
    save(amys, cast.acme)
    plain = sign_in_page("")
    assert sign_in_page("tenant=acme") == sign_in_page("next=/t/acme/") == plain
    save(amys, cast.acme, is_on_sign_in="on")
    assert "Acme Desk" in sign_in_page("tenant=acme")
    assert "Acme Desk" in sign_in_page("next=/t/acme/c/x/")
    others = (
        "tenant=nobody",
        "tenant=globex",
        "tenant=" + "x" * 5000,
        "tenant=%00",
        "next=/t/globex/",
        "next=//t/acme/",
    )
    assert {sign_in_page(query) for query in others} == {plain}
    Tenant.objects.filter(pk=cast.acme.pk).update(is_active=False)
    assert sign_in_page("tenant=acme") == plain


def test_an_unknown_tenant_takes_the_same_query(amys: Client, cast: Cast, django_assert_num_queries: object) -> None:
    save(amys, cast.acme)
    for slug in ("acme", "globex", "nobody"):
        with django_assert_num_queries(1):  # type: ignore[operator]
            sign_in_page(f"tenant={slug}")


def test_a_bundle_carries_the_texts_and_leaves_images_where_they_are(amys: Client, cast: Cast) -> None:
    save(amys, cast.acme, shows_model="on", **files(logo_file=png()))
    cast.acme.refresh_from_db()
    bundle = read_bundle(text_of(bundle_of_tenant(tenant=cast.acme)).encode())
    Brand.objects.create(tenant=cast.globex, logo=BrandImage.objects.create(tenant=cast.globex, data=png(9, 9)))
    import_bundle(bundle=bundle, tenant=cast.globex, actor=None)
    brand = Brand.objects.get(tenant=cast.globex)
    assert (brand.name, brand.accent, brand.shows_model) == ("Acme Desk", "#8a3a8f", True)
    assert brand.logo is not None and bytes(brand.logo.data) == png(9, 9)
    assert import_bundle(bundle=bundle, tenant=cast.globex, actor=None).is_empty


def test_the_icons_of_an_installed_chat_are_as_large_as_they_say(alices: Client, cast: Cast) -> None:
    drawing, *images = alices.get("/t/acme/app.webmanifest").json()["icons"]
    assert drawing["src"].endswith(".svg")
    assert [(one["sizes"], one["purpose"]) for one in images] == [
        ("192x192", "any"),
        ("512x512", "any"),
        ("512x512", "maskable"),
    ]
    for one in images:
        file = finders.find(one["src"].removeprefix(settings.STATIC_URL))
        assert file is not None
        # The width and the height are the first values of a PNG: https://www.w3.org/TR/png-3/#11IHDR.
        width, height = struct.unpack(">II", Path(file).read_bytes()[16:24])
        assert f"{width}x{height}" == one["sizes"]


def test_the_chat_is_installed_under_the_brands_name_by_members_alone(alices: Client, cast: Cast) -> None:
    address = "/t/acme/app.webmanifest"
    assert f'<link rel="manifest" href="{address}" crossorigin="use-credentials">' in chat_of(alices)
    answer = alices.get(address)
    assert answer["Content-Type"] == "application/manifest+json"
    assert (answer.json()["name"], answer.json()["start_url"]) == ("Acme", "/t/acme/")
    Brand.objects.create(tenant=cast.acme, name="Acme Desk")
    assert alices.get(address).json()["name"] == "Acme Desk"
    assert alices.get("/t/globex/app.webmanifest").status_code == 404
    assert Client().get(address).status_code == 302
