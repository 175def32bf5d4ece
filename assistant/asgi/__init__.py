"""ASGI middleware: access log, limits of hosts and bodies, lifespan."""
