"""The page of gaps and the list of labels in the admin, and what the control panel shows of them.

Registered only if documents can be searched.
"""

from django.contrib import admin

from assistant.admin.base.late_pages import late_page
from assistant.contrib.gaps.models import OpenQuestion, QuestionLabel
from assistant.services.toolpolicy.catalogue import is_family_on

if is_family_on("knowledge"):
    admin.site.register(OpenQuestion, late_page("assistant.contrib.gaps.admin.gaps_page.GapsAdmin"))  # type: ignore[arg-type]  # called as a class
    admin.site.register(QuestionLabel, late_page("assistant.contrib.gaps.admin.labels.QuestionLabelAdmin"))  # type: ignore[arg-type]  # as above
