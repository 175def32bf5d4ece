"""Collections in the admin, and what the control panel shows of them; registered only if documents can be searched."""

from django.contrib import admin

from assistant.admin.base.late_pages import late_page
from assistant.contrib.collections.models import Collection
from assistant.services.toolpolicy.catalogue import is_family_on

if is_family_on("knowledge"):
    admin.site.register(Collection, late_page("assistant.contrib.collections.admin.collections.CollectionAdmin"))  # type: ignore[arg-type]  # called as a class
