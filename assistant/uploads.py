"""Where files are uploaded: at forms of the admin that have a file field."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin import ModelAdmin
from django.db import models


def has_file_field(page: ModelAdmin[Any]) -> bool:
    """Return whether a form of the admin, or a form within it, takes files."""
    if any(isinstance(field, forms.FileField) for field in page.form.base_fields.values()):
        return True
    edited = [page.model, *(inline.model for inline in page.inlines)]
    return any(isinstance(field, models.FileField) for model in edited for field in model._meta.get_fields())
