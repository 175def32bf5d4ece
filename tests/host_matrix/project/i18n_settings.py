"""Pages below a language, and addresses for programs apart from them."""

from matrix_settings import *  # noqa: F403

ROOT_URLCONF = "i18n_urls"
