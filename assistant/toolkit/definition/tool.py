"""The `Tool` class: name, description and schema for the model, and the function to call; `@tool` and `tools_of`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any, Unpack, overload

from pydantic import BaseModel

from assistant.toolkit.calls.arguments import parse_arguments
from assistant.toolkit.calls.call import ToolResult, perform
from assistant.toolkit.calls.gate import HandedIn, NoAnswer, called
from assistant.toolkit.calls.left_awaitables import AwaitableLeft
from assistant.toolkit.calls.worker_threads import is_async
from assistant.toolkit.context import ToolContext, as_tool_sees
from assistant.toolkit.definition.augmentation import Augmentation, augmentation_of
from assistant.toolkit.definition.checks import check_definition
from assistant.toolkit.definition.conditions import offer_here
from assistant.toolkit.definition.docstrings import description_of
from assistant.toolkit.definition.examples import Example, ExampleStep
from assistant.toolkit.definition.failures import OnError
from assistant.toolkit.definition.handwritten import HandWritten, closed, read_handler
from assistant.toolkit.definition.names import name_of
from assistant.toolkit.definition.options import ToolOptions
from assistant.toolkit.definition.questions import Preview, Question
from assistant.toolkit.definition.results import ResultConverter, of_value
from assistant.toolkit.definition.signature import Signature, read_input_type, read_signature
from assistant.toolkit.definition.texts import LazyText, Text
from assistant.toolkit.errors import InvalidArguments, InvalidTool
from assistant.toolkit.schema.check import schema_error
from assistant.toolkit.schema.json_schema import JsonSchema
from assistant.toolkit.schema.strict import strict_form
from assistant.toolkit.unknown_options import unknown_options

__all__ = ["Example", "ExampleStep", "Tool", "ToolOptions"]

Arguments = str | bytes | Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """Something a model can call: a function, a tool of a remote server, or another assistant.

    Functions among its options may be async. Others run in a thread, where they may query the database. Where one gives
    no answer of its type in time, what is safe happens: the tool is not offered, a person is asked, a destination is
    not known. The log names the tool and the option.

    Attributes:
        parameters: a JSON Schema of an object.
        handler: takes the arguments as keywords (with a hand-written schema, also as one mapping), and the context in a
            parameter annotated `ToolContext`, if it has one.
        output_schema: a JSON Schema of the return value, if known.
        return_direct: whether its result is the answer of the run, without another model request.
        requires_approval: whether a person has to approve a call; or a function of the arguments and the context.
        timeout: in seconds; None leaves it to the run.
        result_converter: converts the return value for the model: a function of the value, or of the value and the
            declared return type.
        config: a pydantic model of the tenant's settings, available as `context.config`.
        permission: the Django permission ("app.codename") that the user needs.
        read_only: whether it changes nothing.
        idempotent: whether a repeated call with the same arguments has no further effect.
        title: a name for people.
        destructive: whether it can delete or overwrite data; None if unknown.
        open_world: whether it accesses external systems; None if unknown.
        untrusted: whether its results contain text that outsiders wrote, such as e-mails or web pages. In a run that
            has read such text, tools that are not `read_only` follow the tenant's rule: by default a person is asked.
        lists_choices: whether its results list what there is to choose from, such as hotels. That does not make a
            destination trusted: a model that has read untrusted text may have been told which to choose.
        destinations: parameters that decide where something goes, or what is changed: addresses, accounts, URLs, names
            of files. In such a run only a call with a destination that no trusted message contains follows the rule.
        destination_texts: parameters with free text, such as the body of a message: addresses, URLs and account numbers
            in it are destinations too. Only for a tool with `destinations`.
        known_destination: a function of a destination and the context: whether it is one of the tenant's own, such as a
            colleague's address, and needs no trusted message.
        max_calls: how often one run may call it.
        retries: how often it is retried after an exception in `retry_on`, first after about `retry_delay` seconds, then
            after twice that, and so on.
        secrets: names of the tenant's secrets, read with `context.secret(name)`.
        needs_context: keys that `context.extra` must have for it to be offered.
        atomic: whether a sync function runs in a database transaction.
        barrier: whether it runs after all earlier calls of the same reply, and before all later ones.
        waits: whether it may return `Pending`, because its result comes later from outside. Not offered where a run
            cannot go on later by itself.
        on_error: "model" reports an unexpected exception to the model, "raise" ends the run; a function gets the
            exception and returns a sentence for the model, or raises; a mapping says one of these for classes of
            exceptions.
        available: a function of the context: whether the tool is offered.
        describe: a function of the context: the description for the model.
        asks: a function of the arguments: the question that a person answers in place of the tool, which never runs.
            Its result is the answer, a JSON object that fits the question's schema. Not offered where nobody can be
            asked.
        preview: a function of the arguments and the context: what the call would change, for the person who approves
            it. It changes nothing.
        augmentation: a pydantic model of fields that the model fills beside the parameters, such as why it calls. They
            are kept with the call, and shown to whoever approves it; the handler and the functions here never get them.
        is_client_side: whether the client runs it. Such a tool is offered to the model, but has no handler.
        is_provider_side: whether the model's provider runs it within an answer, such as a search of the web. It has no
            handler, is offered to models whose provider has it, and is off where its policy is "ask": nobody can be
            asked.
    """

    name: str
    description: Text = Text()  # noqa: RUF009 - a descriptor
    parameters: JsonSchema
    handler: Callable[..., Any] | None = field(default=None, repr=False)
    signature: Signature | HandWritten | None = field(default=None, repr=False)
    output_schema: JsonSchema | None = field(default=None, repr=False)
    return_direct: bool = False
    requires_approval: bool | Callable[[Mapping[str, Any], ToolContext], bool | Awaitable[bool]] = False
    timeout: float | None = None
    result_converter: ResultConverter | None = None
    config: type[BaseModel] | None = None
    permission: str | None = None
    read_only: bool = False
    idempotent: bool = False
    title: Text = Text("")  # noqa: RUF009 - a descriptor
    destructive: bool | None = None
    open_world: bool | None = None
    untrusted: bool = False
    lists_choices: bool = False
    destinations: Sequence[str] = ()
    destination_texts: Sequence[str] = ()
    known_destination: Callable[[str, ToolContext], bool | Awaitable[bool]] | None = None
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
    waits: bool = False
    on_error: OnError = "model"
    available: Callable[[ToolContext], bool | Awaitable[bool]] | None = None
    describe: Callable[[ToolContext], str | Awaitable[str]] | None = None
    asks: Callable[[Mapping[str, Any]], Question | Awaitable[Question]] | None = None
    preview: Preview | None = None
    augmentation: type[BaseModel] | None = None
    is_client_side: bool = False
    is_provider_side: bool = False

    def __post_init__(self) -> None:
        check_definition(self)
        signature = self.signature
        if signature is None:
            if mistake := schema_error(closed(self.parameters)):
                raise InvalidTool(f"Tool {self.name!r} has no valid JSON Schema: {mistake}.")
            signature = (
                HandWritten(self.parameters)
                if self.handler is None
                else read_handler(self.name, self.handler, self.parameters)
            )
            object.__setattr__(self, "signature", signature)
        elif isinstance(signature, Signature) and signature.is_open and (mistake := schema_error(self.parameters)):
            # Arguments are also checked against this schema, since some of their types accept unknown keys.
            raise InvalidTool(f"Tool {self.name!r} cannot be checked by its JSON Schema: {mistake}.")
        if not {*self.destinations, *self.destination_texts} <= set(self.parameters.get("properties", ())):
            raise InvalidTool(f"Tool {self.name!r} names destinations that are none of its parameters.")
        check = self.check if self.augmentation is None else self.unaugmented.check
        for example in self.examples:
            try:
                check(self.own_arguments(example.arguments))
            except InvalidArguments as exc:
                raise InvalidTool(f"An example of tool {self.name!r} does not fit its schema. {exc}") from exc
        if self.augmentation is not None:
            augmentation = augmentation_of(self.augmentation)
            augmentation.check_clash(self.name, signature.parameters)
            # A copy has the fields already, maybe as a provider's wire format takes them.
            if self.parameters == signature.parameters:
                object.__setattr__(self, "parameters", augmentation.added_to(self.parameters))

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | LazyText | None = None,
        parameters: JsonSchema | None = None,
        input_type: Any = None,
        localns: Mapping[str, Any] | None = None,
        **options: Unpack[ToolOptions],
    ) -> Tool:
        """Make a tool from a callable; name, description and schema are read from it unless given.

        Args:
            parameters: a handwritten JSON Schema, instead of the signature's.
            input_type: a pydantic model, dataclass or TypedDict whose fields are the model's parameters, or the type of
                a single value, such as `str`; the function takes one of it.
            localns: names that annotations written as text may use.

        Raises:
            InvalidTool: a model could not call it, or it has no description.
        """
        if isinstance(function, Tool) or not callable(function):
            raise InvalidTool(f"{function!r} is not a function.")
        if mistake := unknown_options("Tools have no options", options, sorted(ToolOptions.__annotations__)):
            raise InvalidTool(mistake)
        name = name or name_of(function)
        description = description if description is not None else description_of(function, name)
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
        """Make a tool that the client runs; it is offered to the model, but cannot be called here."""
        return cls(name=name, description=description, parameters=parameters, is_client_side=True)

    @classmethod
    def provider_side(cls, *, name: str, description: str, parameters: JsonSchema, title: str = "") -> Tool:
        """Make a tool that the model's provider runs; its results count as text that outsiders wrote."""
        return cls(
            name=name,
            description=description,
            parameters=parameters,
            title=title,
            read_only=True,
            open_world=True,
            untrusted=True,
            is_provider_side=True,
        )

    def check(self, arguments: Arguments) -> dict[str, Any]:
        """Return the validated, typed arguments by parameter name. On an event loop use `checked`.

        Raises:
            InvalidArguments: they do not match the schema.
            NoAnswer: a validator of the author's has returned an awaitable.
        """
        assert self.signature is not None  # noqa: S101 - set when it was made  # nosec B101
        try:
            parsed = parse_arguments(arguments)
            if self.augmentation is not None:
                augmentation = augmentation_of(self.augmentation)
                augmentation.values(parsed)
                parsed = augmentation.without_fields(parsed)
            return self.signature.check(parsed)
        except AwaitableLeft as exc:
            raise NoAnswer(f"Tool {self.name!r}: {exc}.") from None

    async def checked(self, arguments: Arguments) -> dict[str, Any]:
        """Return the arguments as `check` does. Where it calls validators of the author's, it runs in a thread.

        Raises:
            InvalidArguments: they do not match the schema.
            NoAnswer: a validator of the author's has returned an awaitable, or has taken too long.
        """
        has_functions = self.signature is not None and self.signature.has_functions
        if self.augmentation is not None:
            has_functions = has_functions or augmentation_of(self.augmentation).signature.has_functions
        if not has_functions:
            return self.check(arguments)
        asked = HandedIn(self.check, (arguments,), "validators", self.name, dict)
        checked: dict[str, Any] = await called(asked)
        return checked

    async def checked_fields(self, arguments: Arguments) -> BaseModel | None:
        """Return the validated fields of `augmentation`, as `checked` returns the arguments; None without one."""
        augmentation = self._augmentation
        if augmentation is None:
            return None
        parsed = parse_arguments(arguments)
        if not augmentation.signature.has_functions:
            return augmentation.values(parsed)
        asked = HandedIn(augmentation.values, (parsed,), "validators", self.name, BaseModel)
        fields: BaseModel = await called(asked)
        return fields

    def own_arguments(self, arguments: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
        """Return a call's arguments without the fields of `augmentation`."""
        return arguments if self._augmentation is None else self._augmentation.own_arguments(arguments)

    def completed(self, edited: Mapping[str, Any], arguments: str) -> Mapping[str, Any]:
        """Return arguments that a person has edited; fields of `augmentation` that they left out are the model's."""
        return edited if self._augmentation is None else self._augmentation.completed(edited, arguments)

    async def call(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Run the tool and convert its result. The caller has to enforce `timeout`.

        Raises:
            InvalidArguments: the arguments do not match the schema.
            NoAnswer: a validator of the author's has returned an awaitable, or has taken too long.
            ToolError: an error for the model, from the tool or the conversion of its result.
            Exception: any other exception of the function, unchanged.
        """
        if self.handler is None or self.signature is None:
            raise InvalidTool(f"Tool {self.name!r} runs at the {self._place}.")
        checked = await self.checked(arguments)
        seen = context if context.read_fields is None else as_tool_sees(context)
        positional: tuple[Any, ...] = ()
        if isinstance(self.signature, HandWritten) and self.signature.takes_mapping:
            positional, checked = self.signature.as_mapping(checked)
        given = {**checked, **dict.fromkeys(self.signature.contexts, seen)}
        return await perform(self, partial(self.handler, *positional, **given), context, seen)

    def for_context(self, context: ToolContext) -> Tool | None:
        """Return the tool with its description for this context; None if it is not offered.

        For code without an event loop: where one runs, async functions cannot be asked, and the tool is not offered.
        """
        return offer_here(self, context).offered

    def strict_parameters(self) -> JsonSchema | None:
        """Return the schema in strict form, which some providers guarantee to follow; None if it has none.

        In strict form every property is required; optional ones can be null, which `check` treats as left out.
        """
        return self._strict_parameters

    @cached_property
    def has_conditions(self) -> bool:
        """Whether it depends on the context if and how the tool is offered."""
        return bool(self.needs_context) or self.available is not None or self.describe is not None

    @cached_property
    def is_async(self) -> bool:
        """Whether the function runs on the event loop, not in a thread."""
        return self.handler is not None and is_async(self.handler)

    @cached_property
    def converter(self) -> Callable[[Any], Any] | None:
        """The result converter as a function of the value alone."""
        if self.result_converter is None:
            return None
        return of_value(self.result_converter, getattr(self.signature, "returns", Any))

    @cached_property
    def unaugmented(self) -> Tool:
        """The tool without its `augmentation`, which takes the arguments of `own_arguments`."""
        return self if self.augmentation is None else self.replace(augmentation=None)

    @property
    def field_names(self) -> frozenset[str]:
        """The names of the fields of `augmentation`."""
        return frozenset() if self._augmentation is None else self._augmentation.names

    @property
    def _augmentation(self) -> Augmentation | None:
        return None if self.augmentation is None else augmentation_of(self.augmentation)

    @property
    def _place(self) -> str:
        return "provider" if self.is_provider_side else "client"

    @cached_property
    def _strict_parameters(self) -> JsonSchema | None:
        return strict_form(self.parameters)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function directly, without validation and context."""
        if self.handler is None:
            raise TypeError(f"Tool {self.name!r} runs at the {self._place}.")
        return self.handler(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool:
        """Bind the tool of a method to its object, as Python binds methods."""
        signature = self.signature
        if signature is None or signature.owner is None or self.handler is None:
            return self
        target = owner if signature.owner == "class" else instance
        if target is None:
            return self
        return replace(self, handler=self.handler.__get__(target), signature=replace(signature, owner=None))

    def replace(self, **changes: Any) -> Tool:
        """Return a copy with these fields changed."""
        if "augmentation" in changes and self.augmentation is not None and self.signature is not None:
            changes.setdefault("parameters", self.signature.parameters)
        try:
            return replace(self, **changes)
        except TypeError:
            names = [field.name for field in fields(self)]
            if mistake := unknown_options("Tools have no options", changes, names):
                raise InvalidTool(mistake) from None
            raise


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | LazyText | None = None,
    parameters: JsonSchema | None = None,
    input_type: Any = None,
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a tool: `@tool` or `@tool(name=..., timeout=..., ...)` with the fields of `Tool`.

    The tool can still be called like the function.
    """

    def decorate(target: Any) -> Any:
        if isinstance(target, staticmethod):
            return Tool.from_function(target.__func__, **options)
        if isinstance(target, classmethod):
            return classmethod(Tool.from_function(target.__func__, **options))
        return Tool.from_function(target, **options)

    return decorate if function is None else decorate(function)


def tools_of(owner: object) -> list[Tool]:
    """Return the tools among an object's methods, or a class's static and class methods, bound to it.

    They are in the order of definition, those of base classes first. An overridden method is a tool only if the
    override is one.

    Raises:
        InvalidTool: `owner` is a class, and one of its tools is an instance method.
    """
    cls = owner if isinstance(owner, type) else type(owner)
    found: dict[str, Tool] = {}
    for klass in reversed(cls.__mro__):
        for attribute, value in vars(klass).items():
            inner = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            if isinstance(inner, Tool):
                found[attribute] = inner.__get__(None if isinstance(owner, type) else owner, cls)
            else:
                found.pop(attribute, None)
    for made in found.values():
        if made.signature is not None and made.signature.owner is not None:
            raise InvalidTool(f"Tool {made.name!r} is a method: give an object of {cls.__name__}, not the class.")
    return list(found.values())
