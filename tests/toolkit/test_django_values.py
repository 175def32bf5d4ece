"""What tools of a Django project return and are given: rows of any columns, lazy texts, exceptions, bytes."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.db import models
from django.db.models import Count, F, Prefetch, Value
from django.test.utils import isolate_apps
from django.utils.translation import gettext_lazy, override

from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.messages import Message
from assistant.models import Tenant
from assistant.providers.openai_wire.request_body import request_body
from assistant.toolkit import ForeignRow, Media, TenantInfo, Tool, ToolContext, ToolError, tool
from assistant.toolkit.calls.arguments import parse_arguments
from assistant.toolkit.calls.call import convert, result_of
from assistant.toolkit.errors import InvalidArguments, InvalidTool
from tests.base import Cast

_ = gettext_lazy


class Odd:
    """A value that nothing can serialise."""

    def __str__(self) -> str:
        return "odd value"


@pytest.fixture
def row() -> Iterator[models.Model]:
    with isolate_apps("tests"):

        class Document(models.Model):  # noqa: DJ008 - for columns only
            file = models.FileField()
            image = models.ImageField()
            odd = models.TextField()
            data = models.BinaryField()
            api_key = models.TextField()

            class Meta:
                app_label = "tests"

        yield Document(pk=7, file="a/report.pdf", image="", odd=Odd(), data=b"\x00\xff", api_key="sk-1")


def test_columns_of_any_type_are_shown_as_text(row: models.Model) -> None:
    shown = {"id": 7, "file": "a/report.pdf", "image": "", "odd": "odd value", "data": "[2 bytes]"}
    assert json.loads(convert(row)) == shown
    assert json.loads(convert([row, row])) == [shown, shown]


def test_a_row_that_is_too_large_is_still_refused(row: Any) -> None:
    row.odd = list(range(300_000))
    with pytest.raises(ToolError, match="cannot be shown"):
        convert(row)


def test_a_file_alone_is_no_text() -> None:
    with pytest.raises(ToolError, match="cannot be shown"):
        convert(ContentFile(b"x", name="a.txt"))


@pytest.mark.django_db
def test_annotations_are_columns(cast: Cast) -> None:
    found = User.objects.filter(pk=cast.alice.pk).only("username")
    queryset = found.annotate(teams=Count("assistant_memberships"), again=F("username"), api_token=Value("t"))
    for value in (queryset, list(queryset), queryset.get()):
        (shown,) = json.loads(convert([value] if isinstance(value, User) else value))
        assert (shown["teams"], shown["again"], "api_token" in shown) == (1, "alice", False)


@pytest.mark.django_db
def test_prefetched_rows_and_cached_properties_are_no_columns(cast: Cast) -> None:
    prefetch = Prefetch("assistant_memberships", to_attr="found")
    assert "found" not in json.loads(convert(User.objects.prefetch_related(prefetch).get(pk=cast.alice.pk)))


@pytest.mark.django_db
def test_a_raw_queryset_is_a_list_of_rows(cast: Cast) -> None:
    query = "SELECT id, username, id + 1 AS next FROM auth_user WHERE username IN ('alice', 'amy') ORDER BY username"
    shown = json.loads(convert(User.objects.raw(query)))
    assert [one["username"] for one in shown] == ["alice", "amy"]
    assert shown[0]["next"] == cast.alice.pk + 1


@pytest.mark.django_db
def test_a_raw_queryset_is_cut_like_any_other() -> None:
    User.objects.bulk_create(User(username=f"u{number}") for number in range(150))
    shown = json.loads(convert(User.objects.raw("SELECT id, username FROM auth_user")))
    assert len(shown) == 101 and "only the first 100" in shown[-1]


@tool(description=_("Yes"), title=_("No"))
def lazy() -> str:
    return "ok"


def test_lazy_texts_are_translated_when_they_are_read() -> None:
    with override("de"):
        assert (lazy.description, lazy.title) == ("Ja", "Nein")
        request = ModelRequest([Message("user", "Hi")], tools=[lazy])
        body = json.loads(request_body(request, model="m", strict=False, with_usage=False))
        assert body["tools"][0]["function"]["description"] == "Ja"
        assert lazy.replace(timeout=1).description == "Ja"
    with override("en"):
        assert (type(lazy.description), lazy.description, lazy.title) == (str, "Yes", "No")


def test_a_lazy_text_is_not_read_when_the_tool_is_defined() -> None:
    class Unreadable:
        def __str__(self) -> str:
            raise AssertionError("read too early")

    Unreadable.__name__ = "__proxy__"
    Tool(name="a", description=Unreadable(), parameters={"type": "object"}, handler=lambda: None)  # type: ignore[arg-type]
    with pytest.raises(InvalidTool, match="is a text"):
        Tool(name="a", description=7, parameters={"type": "object"}, handler=lambda: None)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_returned_exception_is_a_failure(is_async: bool) -> None:
    def sync_handler() -> Any:
        """Fail."""
        return ToolError("There is no such order.")

    async def handler() -> Any:
        """Fail."""
        return ToolError("There is no such order.")

    failing = tool(handler if is_async else sync_handler)
    with pytest.raises(ToolError, match="no such order"):
        await failing.call({}, ToolContext())


def test_any_exception_that_is_returned_is_raised() -> None:
    error = ValueError("secret")
    with pytest.raises(ValueError, match="secret"):
        result_of(error)
    with pytest.raises(RuntimeError, match="KeyboardInterrupt"):
        result_of(KeyboardInterrupt())
    assert convert(["fine", KeyError("x")]) == '["fine","\'x\'"]'


def test_nul_is_removed_before_the_function_sees_it() -> None:
    parsed = parse_arguments('{"a\\u0000": "x\\u0000y", "list": [{"b": "\\u0000"}], "n": 1, "kept": "\\\\u0000"}')
    assert parsed.parsed == {"a": "xy", "list": [{"b": ""}], "n": 1, "kept": "\\u0000"}
    assert json.loads(parsed.text) == parsed.parsed
    assert parse_arguments({"a": "x\x00"}).parsed == {"a": "x"}


@pytest.mark.parametrize("arguments", ['"{\\"a\\": 1}"', ' "{\\"a\\": 1}" '])
def test_an_object_that_was_encoded_twice_is_decoded_once(arguments: str) -> None:
    assert parse_arguments(arguments).parsed == {"a": 1}


@pytest.mark.parametrize("arguments", ["[1]", "7", "true", '"text"', '"[1]"', '"\\"{}\\""'])
def test_anything_else_is_no_object(arguments: str) -> None:
    with pytest.raises(InvalidArguments, match="JSON object"):
        parse_arguments(arguments)


@pytest.mark.parametrize("value", [b"x", bytearray(b"x"), memoryview(b"x"), [b"x"], {"a": b"x"}])
def test_bytes_need_a_media_type(value: Any) -> None:
    with pytest.raises(ToolError):
        result_of(value)


def test_bytes_with_a_declared_type_are_files_and_declared_fields_are_text() -> None:
    @dataclass
    class Blob:
        data: bytes

    assert result_of(Media(b"a,b", "text/csv")).media[0].data == b"a,b"
    assert convert(Blob(b"hi")) == '{"data":"aGk="}'


def test_extra_values_cannot_be_changed_at_any_depth() -> None:
    given: dict[str, Any] = {"filters": {"tags": ["a"], "set": {1}, "pair": ([1],)}}
    extra: Any = ToolContext(extra=given).extra
    for change in (
        lambda: extra.update(a=1),
        lambda: extra.__setitem__("a", 1),
        lambda: extra["filters"].pop("tags"),
        lambda: extra["filters"]["tags"].append("b"),
        extra["filters"]["tags"].sort,
        lambda: extra["filters"]["pair"][0].append(2),
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            change()
    with pytest.raises(AttributeError):
        extra["filters"]["set"].add(2)
    given["filters"]["tags"].append("b")
    assert extra["filters"]["tags"] == ["a"]


def test_extra_values_are_still_json_and_can_be_copied() -> None:
    extra: Any = ToolContext(extra={"filters": {"tags": ["a"]}}).extra
    assert json.dumps(extra) == '{"filters": {"tags": ["a"]}}'
    assert isinstance(extra["filters"], dict) and isinstance(extra["filters"]["tags"], list)
    for copied in (copy.deepcopy(extra), pickle.loads(pickle.dumps(extra))):
        copied["filters"]["tags"].append("b")
        assert copied == {"filters": {"tags": ["a", "b"]}}
    assert copy.copy(extra) == extra | {} and extra["filters"].copy() == {"tags": ["a"]}


def test_extra_values_that_contain_themselves_are_taken() -> None:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    assert ToolContext(extra=loop).extra["loop"]["loop"]


@pytest.mark.django_db(transaction=True)
async def test_rows_of_a_raw_queryset_are_checked_before_they_are_formatted(cast: Cast) -> None:
    def everything() -> Any:
        """List tenants."""
        return Tenant.objects.raw("SELECT * FROM assistant_tenant")

    listing = tool(everything).replace(result_converter=lambda rows: [row.name for row in rows])
    context = ToolContext(tenant=TenantInfo(cast.acme.pk, "acme"))
    for one in (listing, tool(everything)):
        with pytest.raises(ForeignRow):
            await one.call({}, context)
