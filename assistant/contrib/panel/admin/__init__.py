"""The pages of the control panel; they show only rows of tenants that the user may see.

The panel's own site loads them when its addresses are asked for, because they need most of the product. Another site
has them as soon as Django looks for pages.
"""

from importlib import import_module

from django.contrib import admin

if not getattr(admin.site, "registers_pages_late", False):
    import_module("assistant.contrib.panel.admin.pages")
