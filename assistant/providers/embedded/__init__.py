"""The embedded language model: its weights, its server, and the `Model` for it; and the stand-in without a model."""

from assistant.providers.embedded.model import EmbeddedModel
from assistant.providers.embedded.readiness import is_ready
from assistant.providers.embedded.server import EmbeddedServer, start_server
from assistant.providers.embedded.standin.model import StandIn
from assistant.providers.embedded.weights import MODEL_NAME
from assistant.toolkit.unknown_options import list_options_of

__all__ = ["MODEL_NAME", "EmbeddedModel", "EmbeddedServer", "StandIn", "is_ready", "start_server"]

list_options_of(__name__)
