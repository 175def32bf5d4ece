"""ASGI middleware: access log, checks of hosts and body sizes, lifespan."""
