"""The ASGI application: HTTP, MCP and websockets."""

from __future__ import annotations

import os
import warnings

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# WhiteNoise hands a file over in pieces that a thread reads, as it should; Django warns of each.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

# Django must be set up before anything that imports models.
django_application = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.exceptions import ImproperlyConfigured  # noqa: E402

from assistant.access import with_request_id  # noqa: E402
from assistant.lifespan import lifespan  # noqa: E402
from assistant.routing import from_nobody, websocket_urlpatterns, with_caller, with_mcp  # noqa: E402

if settings.ENVIRONMENT_PROBLEMS:
    # Servers run no system checks, and a wrong value must stop the start there too.
    raise ImproperlyConfigured(
        " ".join(f"The environment variable {name} {problem}." for name, problem in settings.ENVIRONMENT_PROBLEMS)
    )

application = with_request_id(
    from_nobody(
        ProtocolTypeRouter(
            {
                "http": with_mcp(django_application),
                "websocket": with_caller(URLRouter(websocket_urlpatterns)),
                "lifespan": lifespan,
            }
        )
    )
)
