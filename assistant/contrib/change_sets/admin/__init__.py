"""Change sets and labels of tenants in the admin, and what the control panel shows of them."""

from django.contrib import admin

from assistant.admin.base.late_pages import late_page
from assistant.contrib.change_sets.models import ChangeSet, TenantLabel

admin.site.register(ChangeSet, late_page("assistant.contrib.change_sets.admin.sets.ChangeSetAdmin"))  # type: ignore[arg-type]  # called as a class
admin.site.register(TenantLabel, late_page("assistant.contrib.change_sets.admin.labels.TenantLabelAdmin"))  # type: ignore[arg-type]  # as above
