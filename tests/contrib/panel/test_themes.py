"""The pages that are in a project's own admin too, in whatever theme that has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib import admin

from assistant.admin.base.tenant_scope import TenantScopedAdmin

THEMES = settings.BASE_DIR / "assistant/static/assistant/admin/themes.css"
APPS = settings.BASE_DIR / "assistant/contrib"
# Pages of the panel alone.
OF_PANEL = {"panel/templates/admin/assistant/panel/site.html", "panel/templates/admin/assistant/base.html"}
OF_DJANGO = Path(admin.__file__).parent / "static/admin/css/base.css"
# A theme has its own fonts.
FONTS = {"--font-family-monospace", "--font-family-primary"}
USED = re.compile(r"var\((--[\w-]+)\)")
SET = re.compile(r"(?<![\w-])(--[\w-]+):")


def test_every_page_of_ours_follows_the_theme_of_the_admin_that_it_is_in() -> None:
    direct = {
        path.relative_to(APPS).as_posix()
        for path in APPS.rglob("*.html")
        if 'extends "admin/base_site.html"' in path.read_text()
    }
    assert direct == OF_PANEL


@pytest.mark.parametrize("theme", ["unfold/css/styles", "jazzmin/css/main"])
def test_a_theme_gives_every_colour_that_our_style_sheets_take_from_django(theme: str) -> None:
    sheets = [path.read_text() for path in APPS.glob("*/static/assistant/**/*.css") if path.name != "theme.css"]
    assert len(sheets) > 8
    used = {name for sheet in sheets for name in USED.findall(sheet)}
    given = set(SET.findall(OF_DJANGO.read_text())) - FONTS
    rule = THEMES.read_text().partition(f'html:has(link[href*="{theme}"]) {{')[2].partition("}")[0]
    assert len(used & given) > 10 and (used & given) - set(SET.findall(rule)) == set()


def test_django_unfold_draws_add_in_the_header_of_our_lists() -> None:
    ours = [page for page in admin.site._registry.values() if type(page).__module__.startswith("assistant.")]
    scoped = [page for page in ours if isinstance(page, TenantScopedAdmin)]
    assert len(scoped) > 30
    assert all(page.show_add_link for page in scoped)
