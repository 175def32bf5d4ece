"""OpenTelemetry spans and metrics of runs, model calls and tool calls, by the GenAI semantic conventions.

Spans contain names, options, tokens and durations; messages, arguments and results only with `content`. Without an
OpenTelemetry SDK nothing is recorded.
"""

from __future__ import annotations

from assistant.client.spans.model_requests import model_spans
from assistant.client.spans.recording import CONVENTIONS_VERSION, fail, fell_back, is_observed
from assistant.client.spans.tool_calls import ToolSpans

__all__ = [
    "CONVENTIONS_VERSION",
    "ToolSpans",
    "fail",
    "fell_back",
    "is_observed",
    "model_spans",
]
