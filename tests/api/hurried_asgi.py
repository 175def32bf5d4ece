"""The site, whose streams end a second after it was asked to end, for tests that wait for that."""

from assistant.services.connections import shutdown

shutdown.MAX_STREAM_SECONDS = 1.0

from config.asgi import application  # noqa: E402, F401
