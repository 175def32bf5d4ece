"""ASGI middleware around all doors: access log, body limits, lifespan."""
