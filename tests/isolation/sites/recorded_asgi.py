"""The site with its spans written to the file that TRACES names."""

from __future__ import annotations

import os
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

_provider = TracerProvider()
_file = Path(os.environ["TRACES"]).open("w")  # noqa: SIM115 - open as long as the process lives
_provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=_file)))
trace.set_tracer_provider(_provider)

from config.asgi import application  # noqa: E402 - the tracer provider must be set first

__all__ = ["application"]
