"""The ASGI application with a planted fault."""

from __future__ import annotations

from benchmarks.resilience.planting import plant
from config.asgi import application

plant()

__all__ = ["application"]
