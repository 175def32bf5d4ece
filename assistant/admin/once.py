"""The page that shows a new secret, which is kept nowhere in the clear: not in the session either."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse


def show_once(
    page: admin.ModelAdmin[Any], request: HttpRequest, template: str, *, title: str, row: models.Model, secret: str
) -> HttpResponse:
    """Show a row's secret: it is this answer or never. The template extends `admin/assistant/shown_once.html`."""
    context = {**page.admin_site.each_context(request), "opts": page.opts, "title": title, "row": row, "secret": secret}
    response = TemplateResponse(request, template, context)
    response.headers["Cache-Control"] = "no-store"
    return response
