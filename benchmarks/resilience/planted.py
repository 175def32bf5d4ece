"""The site with one thing broken on purpose, which the environment names: `PLANTED=module:function`."""

from __future__ import annotations

import importlib
import os

from config.asgi import application

module, _, function = os.environ["PLANTED"].partition(":")
getattr(importlib.import_module(module), function)()

__all__ = ["application"]
