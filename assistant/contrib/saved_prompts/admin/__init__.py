"""The tenant's saved prompts in the admin, and what the control panel shows of them."""

from django.contrib import admin

from assistant.admin.base.late_pages import late_page
from assistant.contrib.saved_prompts.models import SavedPrompt

admin.site.register(SavedPrompt, late_page("assistant.contrib.saved_prompts.admin.prompts.SavedPromptAdmin"))  # type: ignore[arg-type]  # called as a class
