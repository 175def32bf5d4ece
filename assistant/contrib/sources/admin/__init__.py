"""Folders and websites in the admin, and what the control panel shows of them.

Registered only if documents can be searched.
"""

from django.contrib import admin

from assistant.admin.base.late_pages import late_page
from assistant.contrib.sources.models import Source
from assistant.services.toolpolicy.catalogue import is_family_on

if is_family_on("knowledge"):
    admin.site.register(Source, late_page("assistant.contrib.sources.admin.sources.SourceAdmin"))  # type: ignore[arg-type]  # called as a class
