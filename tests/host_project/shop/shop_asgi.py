"""The shop as an ASGI application, with the assistant's websockets."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop_settings")
application = get_asgi_application()

from assistant.routing import with_assistant  # noqa: E402

application = with_assistant(application)
