"""The ASGI application: HTTP, MCP and websockets."""

from __future__ import annotations

import os
import warnings

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# WhiteNoise streams files from a thread, as intended; Django would warn about each response.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

# Django must be set up before anything that imports models.
site = get_asgi_application()

from assistant.routing import with_assistant  # noqa: E402

application = with_assistant(site, whole_site=True)
