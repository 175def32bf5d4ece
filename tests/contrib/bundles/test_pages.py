"""The pages of bundles: export, upload, difference, import; for operators and the tenant's own admins."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from assistant.contrib.bundles.services.export import bundle_of_assistant, bundle_of_tenant, text_of
from assistant.contrib.bundles.services.format import MAX_BYTES
from assistant.contrib.bundles.services.imports import ImportRefused, import_bundle
from assistant.models import Assistant, AuditEntry, Tenant, TenantLimits
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.factories import make_member, switch_tool


def tab(tenant: Tenant, rest: str = "") -> str:
    return f"/admin/assistant/tenant/{tenant.pk}/bundle/{rest}"


def upload(client: Client, tenant: Tenant, text: str | bytes) -> Any:
    content = text.encode() if isinstance(text, str) else text
    return client.post(tab(tenant), {"file": SimpleUploadedFile("a.json", content)})


def confirm(client: Client, tenant: Tenant, page: Any, **changed: str) -> Any:
    return client.post(tab(tenant, "import/"), page.context["confirm"].initial | changed, follow=True)


def acme_file(cast: Cast) -> str:
    switch_tool(cast.acme, "current_time", "ask")
    return text_of(bundle_of_tenant(tenant=cast.acme))


def test_a_configuration_goes_from_staging_to_production_in_four_clicks(root: Client, cast: Cast) -> None:
    switch_tool(cast.acme, "current_time", "ask")
    exported = root.get(tab(cast.acme, "export/"))
    assert exported.headers["Content-Disposition"] == 'attachment; filename="acme.bundle.json"'
    shown = upload(root, cast.globex, exported.content)
    page = shown.content.decode()
    assert "Will be created" in page
    assert "current_time" in page
    assert "<del>You are Globex&#x27;s support assistant.</del> → <ins>You are Acme&#x27;s support" in page
    assert not cast.globex.tool_settings.exists()
    done = confirm(root, cast.globex, shown)
    assert "Imported: 1 created, 1 changed." in done.content.decode()
    assert cast.globex.tool_settings.get().policy == "ask"
    assert AuditEntry.objects.filter(tenant=cast.globex, action="bundle.import", actor=cast.root).exists()
    again = upload(root, cast.globex, exported.content)
    assert "Nothing would change." in again.content.decode()
    assert "Import this" not in again.content.decode()


def test_an_assistant_is_exported_from_its_page(amys: Client, cast: Cast) -> None:
    address = tab(cast.acme, f"export/{cast.support.pk}/")
    assert address in amys.get(f"/admin/assistant/assistant/{cast.support.pk}/change/").content.decode()
    assert json.loads(amys.get(address).content)["assistants"][0]["slug"] == "support"
    for tenant in (cast.acme, cast.globex):
        assert amys.get(tab(tenant, f"export/{cast.rival_support.pk}/")).status_code == 404


def test_an_admin_imports_into_their_own_tenant_only(amys: Client, cast: Cast) -> None:
    text = text_of(bundle_of_assistant(assistant=cast.rival_support))
    shown = upload(amys, cast.acme, text)
    assert confirm(amys, cast.acme, shown).status_code == 200
    assert Assistant.objects.get(pk=cast.support.pk).prompt_versions.filter(status="published").get().text == (
        "You are Globex's support assistant."
    )
    for address in (tab(cast.globex), tab(cast.globex, "export/")):
        assert amys.get(address).status_code == 404
    assert upload(amys, cast.globex, text).status_code == 404
    assert confirm(amys, cast.globex, shown).status_code == 404


def test_a_member_with_a_role_of_their_own_has_no_bundles(cast: Cast) -> None:
    assert signed_in(make_member(cast.acme, is_staff=True)).get(tab(cast.acme)).status_code in (302, 403, 404)
    assert signed_in(cast.mallory).get(tab(cast.acme)).status_code in (302, 403, 404)


@pytest.mark.parametrize("text", ["", "{}", "[1", "\ufeff", '{"format": "tenant-assistant/bundle", "version": 9}'])
def test_what_is_no_bundle_is_refused_with_a_reason(amys: Client, cast: Cast, text: str) -> None:
    page = upload(amys, cast.acme, text)
    assert page.status_code == 200
    assert "errorlist" in page.content.decode()
    assert "confirm" not in page.context


def test_a_file_that_is_too_large_is_not_read(amys: Client, cast: Cast) -> None:
    assert "1024 KiB" in str(upload(amys, cast.acme, b" " * (MAX_BYTES + 1)).context["form"].errors)


def test_the_largest_bundle_can_be_confirmed(root: Client, cast: Cast) -> None:
    file = json.loads(acme_file(cast))
    file["assistants"][0]["prompt"] = "é" * (MAX_BYTES // 2 - 2_000)
    text = json.dumps(file, ensure_ascii=False)
    text += "\n" * (MAX_BYTES - len(text.encode()))
    shown = upload(root, cast.globex, text)
    sent = shown.context["confirm"].initial["text"].replace("\n", "\r\n")  # as browsers do
    assert "Imported" in confirm(root, cast.globex, shown, text=sent).content.decode()


def test_a_row_that_no_form_would_take_is_not_exported(amys: Client, cast: Cast) -> None:
    Assistant.objects.filter(pk=cast.support.pk).update(temperature=9)
    for address in (tab(cast.acme, "export/"), tab(cast.acme, f"export/{cast.support.pk}/")):
        page = amys.get(address, follow=True).content.decode()
        assert "cannot be exported: temperature: Input should be less than or equal to 2" in page


def test_the_difference_is_in_the_language_of_the_page(root: Client, cast: Cast) -> None:
    cast.acme.trusts_documents = True
    TenantLimits.objects.create(tenant=cast.acme, member_runs=3)
    file = SimpleUploadedFile("a.json", acme_file(cast).encode())
    page = root.post(tab(cast.globex), {"file": file}, headers={"Accept-Language": "de"}).content.decode()
    for shown in ("vertraut seinen Dokumenten", "Jedes Mitglied: Läufe gleichzeitig", "Regelung", "Zuerst fragen"):
        assert shown in page
    assert "<del>nein</del> → <ins>ja</ins>" in page


def test_a_confirmation_of_something_else_than_was_shown_imports_nothing(amys: Client, cast: Cast) -> None:
    shown = upload(amys, cast.acme, text_of(bundle_of_tenant(tenant=cast.globex)))
    Assistant.objects.filter(pk=cast.support.pk).update(max_rounds=3)
    page = confirm(amys, cast.acme, shown)
    assert "look at the difference again" in page.content.decode()
    assert Assistant.objects.get(pk=cast.support.pk).max_rounds == 3
    assert "Imported" in confirm(amys, cast.acme, page).content.decode()
    wrong = confirm(amys, cast.acme, shown, text="{}")
    assert "Nothing was imported" in wrong.content.decode()


def test_a_file_of_a_stranger_writes_no_markup_into_the_page(amys: Client, cast: Cast) -> None:
    file = json.loads(acme_file(cast))
    file["assistants"][0] |= {"name": "<script>x</script>", "prompt": "<b>\n</pre><script>y</script>", "slug": "new"}
    page = upload(amys, cast.acme, json.dumps(file)).content.decode()
    assert "&lt;script&gt;x" in page
    assert "<script>x" not in page
    assert "<script>y" not in page


def test_an_operator_can_keep_bundles_to_operators(root: Client, amys: Client, cast: Cast, settings: Any) -> None:
    bundle = bundle_of_tenant(tenant=cast.globex)
    settings.ASSISTANT_TENANT_BUNDLES = False
    assert amys.get(tab(cast.acme)).status_code == 404
    assert amys.get(tab(cast.acme, "export/")).status_code == 404
    assert amys.get(tab(cast.acme, f"export/{cast.support.pk}/")).status_code == 404
    for path in (f"tenant/{cast.acme.pk}/overview/", f"assistant/{cast.support.pk}/change/"):
        assert "bundle/" not in amys.get(f"/admin/assistant/{path}").content.decode()
    assert root.get(tab(cast.acme)).status_code == 200
    with pytest.raises(ImportRefused):
        import_bundle(bundle=bundle, tenant=cast.acme, actor=cast.amy)


def test_an_import_needs_a_token_and_a_post(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.amy)
    assert client.post(tab(cast.acme, "import/"), {"text": acme_file(cast), "expected": "x"}).status_code == 403
    assert upload(client, cast.acme, acme_file(cast)).status_code == 403
    assert client.get(tab(cast.acme, "import/")).status_code == 405
