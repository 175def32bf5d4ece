"""django-jazzmin, as its own documentation says: its app before Django's admin."""

from matrix_settings import *  # noqa: F403
from matrix_settings import INSTALLED_APPS

INSTALLED_APPS[:0] = ["jazzmin"]
JAZZMIN_SETTINGS = {"site_title": "The CRM", "site_brand": "The CRM"}
# The robot allows nothing from another origin, such as the fonts that the theme links to.
JAZZMIN_SETTINGS["use_google_fonts_cdn"] = False
