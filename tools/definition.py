"""What a tool is: a name, a description and a schema for the model, and a function for the program."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, TypedDict, Unpack

from pydantic import BaseModel

from tools.arguments import parse_arguments
from tools.calling import perform
from tools.context import ToolContext
from tools.docstrings import first_paragraph
from tools.errors import InvalidArguments, InvalidTool
from tools.examples import Example, ExampleStep
from tools.execution import is_async
from tools.handwritten import HandWritten, closed, read_handler
from tools.jsonschema import JsonSchema
from tools.results import ToolResult
from tools.schema_check import mistake_in
from tools.signature import Signature, name_of, read_input_type, read_signature
from tools.strict import strict_form

__all__ = ["Example", "ExampleStep", "Tool", "ToolOptions"]

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
Arguments = str | bytes | Mapping[str, Any] | None


class ToolOptions(TypedDict, total=False):
    """What may be said of a tool beyond its function; `Tool` tells what each means."""

    return_direct: bool
    requires_approval: bool | Callable[[Mapping[str, Any], ToolContext], bool]
    timeout: float | None
    result_converter: Callable[[Any], Any] | None
    config: type[BaseModel] | None
    permission: str | None
    read_only: bool
    idempotent: bool
    title: str
    destructive: bool | None
    open_world: bool | None
    enabled_by_default: bool
    examples: Sequence[Example]
    max_calls: int | None
    retries: int
    retry_on: tuple[type[Exception], ...]
    retry_delay: float
    secrets: Sequence[str]
    needs_context: Sequence[str]
    atomic: bool
    barrier: bool
    on_error: Literal["model", "raise"]
    available: Callable[[ToolContext], bool] | None
    describe: Callable[[ToolContext], str] | None
    output_schema: JsonSchema | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """One thing a model can have done, whoever does it: a function, a remote server, another assistant.

    Attributes:
        parameters: a JSON Schema of an object.
        handler: takes the arguments as keywords (with a hand-written schema, also as one mapping), and the context in a
            parameter annotated `ToolContext`, if it has one.
        output_schema: a JSON Schema of what it returns, where that is known.
        return_direct: its result is the answer; the model does not read it.
        requires_approval: whether a person is asked first; a function is given the arguments and the context.
        timeout: in seconds; None leaves it to the run.
        result_converter: makes of the returned value what the model reads.
        config: the settings that a tenant can make, found in `context.config`.
        permission: the Django permission ("app.codename") that its user needs.
        read_only: it changes nothing. idempotent: a second call with the same arguments changes nothing more.
        title: what people read in place of its name.
        destructive: whether it may destroy something. open_world: whether it reaches the world outside. None: unsaid.
        max_calls: how often one run may call it.
        retries: how often it is tried again after one of `retry_on`, first after about `retry_delay` seconds, then
            after twice that, and so on.
        secrets: names of secrets that a tenant sets, read by `context.secret(name)`.
        needs_context: keys of `context.extra` without which it is not offered.
        atomic: a sync function's work in the database is one transaction.
        barrier: it runs after all earlier calls of the same reply, and before all later ones.
        on_error: whether an unexpected exception is told to the model, or ends the run.
        available: whether it is offered in this context. describe: its description in this context.
        is_client_side: the caller's own program runs it; here it can only be offered.
    """

    name: str
    description: str
    parameters: JsonSchema
    handler: Callable[..., Any] | None = field(default=None, repr=False)
    signature: Signature | HandWritten | None = field(default=None, repr=False)
    output_schema: JsonSchema | None = field(default=None, repr=False)
    return_direct: bool = False
    requires_approval: bool | Callable[[Mapping[str, Any], ToolContext], bool] = False
    timeout: float | None = None
    result_converter: Callable[[Any], Any] | None = None
    config: type[BaseModel] | None = None
    permission: str | None = None
    read_only: bool = False
    idempotent: bool = False
    title: str = ""
    destructive: bool | None = None
    open_world: bool | None = None
    enabled_by_default: bool = False
    examples: Sequence[Example] = ()
    max_calls: int | None = None
    retries: int = 0
    retry_on: tuple[type[Exception], ...] = (ConnectionError, TimeoutError)
    retry_delay: float = 0.5
    secrets: Sequence[str] = ()
    needs_context: Sequence[str] = ()
    atomic: bool = False
    barrier: bool = False
    on_error: Literal["model", "raise"] = "model"
    available: Callable[[ToolContext], bool] | None = None
    describe: Callable[[ToolContext], str] | None = None
    is_client_side: bool = False

    def __post_init__(self) -> None:
        _check_definition(self)
        if self.signature is None:
            if mistake := mistake_in(closed(self.parameters)):
                raise InvalidTool(f"Tool {self.name!r} has no proper JSON Schema: {mistake}.")
            signature = (
                HandWritten(self.parameters)
                if self.handler is None
                else read_handler(self.name, self.handler, self.parameters)
            )
            object.__setattr__(self, "signature", signature)
        elif (
            isinstance(self.signature, Signature)
            and self.signature.is_open
            and (mistake := mistake_in(self.parameters))
        ):
            # Its nested objects are held to the schema as well as to their types.
            raise InvalidTool(f"Tool {self.name!r} cannot be checked by its JSON Schema: {mistake}.")
        for example in self.examples:
            try:
                self.check(example.arguments)
            except InvalidArguments as exc:
                raise InvalidTool(f"An example of tool {self.name!r} does not fit its schema. {exc}") from exc

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        parameters: JsonSchema | None = None,
        input_type: Any = None,
        localns: Mapping[str, Any] | None = None,
        **options: Unpack[ToolOptions],
    ) -> Tool:
        """A tool from any callable; name, description and schema come from it unless given.

        Args:
            parameters: a hand-written JSON Schema, instead of the signature's.
            input_type: a pydantic model, dataclass or TypedDict whose fields are the model's parameters; the function
                takes one of it.
            localns: names that annotations written as text may use.

        Raises:
            InvalidTool: no model could call it, or it says too little about itself.
        """
        if isinstance(function, Tool) or not callable(function):
            raise InvalidTool(f"{function!r} is no function.")
        unknown = set(options) - ToolOptions.__annotations__.keys()
        if unknown:
            raise InvalidTool(f"Tools have no options named {', '.join(sorted(unknown))}.")
        name = name or name_of(function)
        description = description if description is not None else first_paragraph(function)
        if parameters is not None:
            return cls(name=name, description=description, parameters=parameters, handler=function, **options)
        signature = (
            read_signature(function, localns) if input_type is None else read_input_type(function, input_type, localns)
        )
        if options.get("result_converter") is None:
            options.setdefault("output_schema", signature.output)
        return cls(
            name=name,
            description=description,
            parameters=signature.parameters,
            handler=function,
            signature=signature,
            **options,
        )

    @classmethod
    def client_side(cls, *, name: str, description: str, parameters: JsonSchema) -> Tool:
        """A tool that the caller's own program runs; here it can only be offered."""
        return cls(name=name, description=description, parameters=parameters, is_client_side=True)

    def check(self, arguments: Arguments) -> dict[str, Any]:
        """The arguments, validated and typed, by parameter name. Raises `InvalidArguments`."""
        assert self.signature is not None  # noqa: S101 - set when it was made  # nosec B101
        return self.signature.check(parse_arguments(arguments))

    async def call(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Run the tool once and convert its result. Its `timeout` is kept by whoever calls.

        Raises:
            InvalidArguments: the arguments do not fit the schema.
            ToolError: the tool, or the conversion of its result, says something to the model.
            Exception: whatever else the function raises, as it is.
        """
        if self.handler is None or self.signature is None:
            raise InvalidTool(f"Tool {self.name!r} runs at the client.")
        positional, keywords = self.signature.keywords(self.check(arguments))
        given = {**keywords, **dict.fromkeys(self.signature.contexts, context)}
        return await perform(self, partial(self.handler, *positional, **given), context)

    def for_context(self, context: ToolContext) -> Tool | None:
        """The tool as it is offered in this context, with its description there; None if it is not offered."""
        if any(key not in context.extra for key in self.needs_context):
            return None
        if self.available is not None and not self.available(context):
            return None
        return self if self.describe is None else self.replace(description=self.describe(context))

    def strict_parameters(self) -> JsonSchema | None:
        """The schema in the form that some providers follow to the letter; None if it cannot be put so.

        Every property is required there, and those that are optional can be null, which `check` takes as left out.
        """
        return self._strict_parameters

    @cached_property
    def is_async(self) -> bool:
        """Whether its function runs on the event loop, and not in a thread."""
        return self.handler is not None and is_async(self.handler)

    @cached_property
    def _strict_parameters(self) -> JsonSchema | None:
        return strict_form(self.parameters)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as its author's own code does."""
        if self.handler is None:
            raise TypeError(f"Tool {self.name!r} runs at the client.")
        return self.handler(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool:
        """A method's tool is bound to its object, as a method is."""
        signature = self.signature
        if signature is None or signature.owner is None or self.handler is None:
            return self
        target = owner if signature.owner == "class" else instance
        if target is None:
            return self
        return replace(self, handler=self.handler.__get__(target), signature=replace(signature, owner=None))

    def replace(self, **changes: Any) -> Tool:
        """The same tool with other settings."""
        return replace(self, **changes)


def _check_definition(tool: Tool) -> None:
    """Raises `InvalidTool` for what can only be a mistake."""
    if not isinstance(tool.name, str) or not NAME.fullmatch(tool.name):
        raise InvalidTool(f"A tool's name matches {NAME.pattern}; {tool.name!r} does not.")
    mistakes = {
        "has no description; the model chooses tools by it": not tool.description.strip() and not tool.is_client_side,
        "must have the JSON Schema of an object as its parameters": not isinstance(tool.parameters, dict)
        or tool.parameters.get("type", "object") != "object",
        "has neither a handler nor runs at the client": tool.handler is None and not tool.is_client_side,
        "must have a timeout above 0": tool.timeout is not None and not tool.timeout > 0,
        "must have max_calls above 0": tool.max_calls is not None and tool.max_calls < 1,
        "cannot have a negative number of retries": tool.retries < 0 or tool.retry_delay < 0,
        'must have on_error="model" or "raise"': tool.on_error not in {"model", "raise"},
        "must have a pydantic model as its config": tool.config is not None
        and not (isinstance(tool.config, type) and issubclass(tool.config, BaseModel)),
        "is async, and only a sync function can be atomic": tool.atomic and tool.is_async,
        "has secrets or needs_context that are no sequences of names": isinstance(tool.secrets, str)
        or isinstance(tool.needs_context, str),
    }
    for mistake, is_made in mistakes.items():
        if is_made:
            raise InvalidTool(f"Tool {tool.name!r} {mistake}.")
