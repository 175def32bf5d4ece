"""What each host of the matrix has beside the settings of the project below: languages, files, limits."""

from site_settings import *  # noqa: F403
from site_settings import INSTALLED_APPS, MIDDLEWARE

LANGUAGES = [("en", "English"), ("de", "Deutsch")]
place = MIDDLEWARE.index("django.middleware.common.CommonMiddleware")
MIDDLEWARE[place:place] = ["django.middleware.locale.LocaleMiddleware"]
MIDDLEWARE[1:1] = ["whitenoise.middleware.WhiteNoiseMiddleware"]
WHITENOISE_USE_FINDERS = True
# The host's own, which knows nothing of ours.
del REST_FRAMEWORK  # noqa: F821
INSTALLED_APPS += ["assistant.contrib.data"]
ROOT_URLCONF = "matrix_urls"
