"""The pages of what is exposed and can be reached, in the admin, and in the control panel where that is installed."""

from django.contrib import admin

from assistant.admin.base.late_pages import late_page
from assistant.contrib.data.models import ExposedModel, ReachReview

admin.site.register(ReachReview, late_page("assistant.contrib.data.admin.reach_page.ReachAdmin"))  # type: ignore[arg-type]  # called as a class
admin.site.register(ExposedModel, late_page("assistant.contrib.data.admin.exposed_page.ExposedModelAdmin"))  # type: ignore[arg-type]  # as above
