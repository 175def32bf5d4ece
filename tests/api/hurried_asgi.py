"""The site with streams that end one second after a shutdown begins, for tests that wait for it."""

from assistant.services.connections import shutdown

shutdown.MAX_STREAM_SECONDS = 1.0

from config.asgi import application  # noqa: E402, F401
