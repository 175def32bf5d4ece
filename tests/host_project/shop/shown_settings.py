"""The shop's settings with the assistant's pages as a checkout has them: an installed package has them."""

from pathlib import Path

import assistant
from shop_settings import *  # noqa: F403
from shop_settings import TEMPLATES

TEMPLATES = [TEMPLATES[0] | {"DIRS": [Path(assistant.__file__).resolve().parents[1] / "templates"]}]
