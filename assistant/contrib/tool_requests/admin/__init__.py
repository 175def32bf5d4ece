"""The requests for tools in the admin, and what the control panel shows of them."""

from django.contrib import admin

from assistant.admin.base.late_pages import late_page
from assistant.contrib.tool_requests.models import ToolRequest

admin.site.register(ToolRequest, late_page("assistant.contrib.tool_requests.admin.requests.ToolRequestAdmin"))  # type: ignore[arg-type]  # called as a class
