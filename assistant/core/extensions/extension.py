"""`Extension`: a part of a turn that acts only in some runs, as one object with hooks at named moments."""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.interceptors import CallTool, Invocation, ToolInterceptor
from assistant.core.llm.protocol import Model, ModelError, ModelRequest
from assistant.core.values.citations import Citation
from assistant.core.values.events import Custom, Event
from assistant.core.values.messages import Message, Reply, not_superseded
from assistant.toolkit import Tool, ToolContext, ToolResult
from assistant.toolkit.calls.gate import OnLeft, discard, is_generator, positional_mistake
from assistant.toolkit.calls.stopping import GRACE_SECONDS
from assistant.toolkit.calls.worker_threads import is_async
from assistant.toolkit.logs import log_extra
from assistant.toolkit.unknown_options import meant_by

logger = logging.getLogger(__name__)

State = TypeVar("State")
# The time of one hook, in seconds, unless the extension says another.
HOOK_SECONDS = 10.0
# All but `acts`, in the order in which they are called.
HOOKS = (
    "opened",
    "instructions",
    "tools",
    "before_request",
    "after_event",
    "after_failure",
    "after_reply",
    "around_tool",
    "check_answer",
    "result",
    "finished",
    "before_aside",
    "after_aside",
)
# Those of requests beside the turn.
ASIDES = frozenset({"before_aside", "after_aside"})
# What the names of hooks begin with, here and elsewhere: a public method of an extension that does is meant as one.
_MOMENTS = ("before_", "after_", "around_", "on_", "wrap_")


class _Kind(NamedTuple):
    """The types of an attribute, and what people call them."""

    types: tuple[type, ...]
    called: str


# The attributes that a subclass may set, and how alike one that is misspelt is, from 0 to 1.
_ATTRIBUTES = {
    "name": _Kind((str,), "a text"),
    "guards": _Kind((bool,), "True or False"),
    "seconds": _Kind((int, float), "a number"),
    "in_sub_agents": _Kind((bool,), "True or False"),
    "state_type": _Kind((type,), "a class"),
}
_ALIKE_ATTRIBUTE = 0.8


class InvalidExtension(TypeError):
    """What was handed in as an extension is none, its name is taken, or a hook or an attribute of it cannot be used."""


@dataclass(slots=True)
class ExtensionRun(Generic[State]):
    """What the hooks of one extension get of a run.

    Attributes:
        context: the tenant, the user and the rest of what tools get.
        state: the extension's own, a `state_type` if it has one. It is part of the run's checkpoints.
        text: the text of the answer, while it is checked; before that "".
        grace: how many seconds a hook may take to clean up when the turn is stopped.
    """

    context: ToolContext[Any]
    state: State
    _asked: Sequence[Message] = field(repr=False)
    _transcript: Transcript = field(repr=False)
    _model: Callable[[], Model] = field(repr=False)
    _events: deque[Event] = field(repr=False)
    text: str = ""
    grace: float = GRACE_SECONDS

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, the system prompt first, with what the run has made so far."""
        return (*self._asked, *self._transcript.messages)

    @property
    def new_messages(self) -> tuple[Message, ...]:
        """What the run has made so far, without answers that others have replaced."""
        return tuple(not_superseded(self._transcript.messages))

    @property
    def model(self) -> Model:
        """The model that is asked now, with its `name` and its `provider`."""
        return self._model()

    @property
    def finish_reason(self) -> str:
        """Why the model ended its last answer; "" before it has given one."""
        return self._transcript.finish_reason

    @property
    def citations(self) -> tuple[Citation, ...]:
        """What the provider itself says that its answers were taken from."""
        return self._transcript.citations

    @property
    def on_left(self) -> OnLeft:
        """What notes in the run's trace that a function goes on without being waited for."""
        return self._transcript.timeline.leave

    def tell(self, name: str, value: Any) -> None:
        """Send the clients an event of the type `CUSTOM`, with a JSON value, before the run's next event."""
        self._events.append(Custom(name, value))


class Extension(Generic[State]):
    """A part of a turn that acts only in some runs. A subclass overrides the hooks that it needs.

    Hooks may be async; others run in a thread. Each has `seconds`. What one raises, or that it took too long, is logged
    with the extension's name: an extension that guards ends the turn then, any other is passed over.
    `GuardrailTripped` ends the turn with its sentence in any case. Extensions are called in the order in which they
    were added, and one instance serves all runs, several at once: what belongs to a run is its `state`.
    A class with a method that is named nearly as a hook, or begins as one (`before_`, `after_`, `around_`, `on_`,
    `wrap_`), or with a misspelt attribute of those below is refused, as `InvalidExtension`.

    Attributes:
        name: for the log and for the state in checkpoints; by default the name of the class. Unique.
        guards: whether the turn must not go on without it.
        seconds: the time of each hook but `around_tool`, which has as long as the tool.
        in_sub_agents: whether it acts in the turns of assistants that are called as tools, too.
        state_type: the type of its state, made without arguments: a dataclass or msgspec's `Struct` with fields that
            JSON can hold. None for an extension without state.
    """

    name: str = ""
    guards: bool = False
    seconds: float = HOOK_SECONDS
    in_sub_agents: bool = False
    state_type: type[State] | None = None
    # Which hooks a subclass overrides, so that the others are not entered.
    _hooks: frozenset[str] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = cls.__qualname__
        _refuse_misspelt(cls)
        cls._hooks = frozenset(hook for hook in HOOKS if getattr(cls, hook) is not getattr(Extension, hook))

    def acts(self, context: ToolContext[Any], messages: Sequence[Message]) -> bool:
        """Return whether it acts in a run, which is asked once, when the run opens. It must wait for nothing.

        One that guards acts as well where this gives anything but True or False.

        Args:
            messages: the conversation, the system prompt first.
        """
        return True

    async def opened(self, run: ExtensionRun[State]) -> None:
        """Do what comes before the first request to the model."""

    async def instructions(self, run: ExtensionRun[State]) -> str:
        """Return what the model is told after the system prompt, in all requests of the run; "" for nothing."""
        return ""

    async def tools(self, run: ExtensionRun[State]) -> Sequence[Tool]:
        """Return further tools of the run. Those of the run's own have precedence."""
        return ()

    async def before_request(self, run: ExtensionRun[State], request: ModelRequest) -> ModelRequest:
        """Return the request that is sent to the model in place of this one."""
        return request

    async def after_event(self, run: ExtensionRun[State], event: Event) -> None:
        """Look at an event of an answer that is being written, after it is sent: nearly all are of a few letters."""

    async def after_failure(self, run: ExtensionRun[State], error: ModelError) -> bool:
        """Return whether the model is asked again after a request that failed, which does not count as one then."""
        return False

    async def after_reply(self, run: ExtensionRun[State], reply: Reply) -> None:
        """Look at what the model has answered, before its calls run."""

    async def around_tool(self, invocation: Invocation, call: CallTool) -> ToolResult:
        """Run a tool call: `call(invocation)` does. What this raises, the call fails with."""
        return await call(invocation)

    async def check_answer(self, run: ExtensionRun[State], answer: Any) -> Any:
        """Return the answer, possibly changed: a value if a type was requested, else a text.

        Raises:
            ToolError: the model reads what is wrong, and answers again; as an `AnswerRefused`, in just these words.
        """
        return answer

    async def result(self, run: ExtensionRun[State], answer: Any) -> Any:
        """Return the JSON value that `RUN_FINISHED.result` holds, once an answer is accepted."""

    async def finished(self, run: ExtensionRun[State]) -> None:
        """Do what follows a turn that has ended by itself, well or not; nobody waits for it."""

    async def before_aside(self, request: ModelRequest) -> ModelRequest:
        """Return what is sent in place of a request beside the turn: for a summary, a title or further questions."""
        return request

    async def after_aside(self, request: ModelRequest, reply: Reply) -> None:
        """Look at the complete answer to a request beside the turn, which was sent as it is here."""


def _refuse_misspelt(cls: type[Extension[Any]]) -> None:
    """Raise `InvalidExtension` for a method that is meant as a hook and would never be called, or an attribute."""
    own = [one for one in cls.__mro__ if one is cls or not issubclass(one, Extension)]
    for made_by in own:
        for name, member in vars(made_by).items():
            is_method = callable(member) or isinstance(member, classmethod | staticmethod)
            if name.startswith("_") or isinstance(member, type) or not is_method or name in HOOKS:
                continue
            hook = meant_by(name, ("acts", *HOOKS))
            # What a class from elsewhere calls so may be its own.
            if hook or (made_by is cls and name.startswith(_MOMENTS)):
                raise InvalidExtension(
                    f"{cls.__name__} has {name!r}, which is never called{f': is {hook!r} meant?' if hook else '.'} "
                    f"Hooks: acts, {', '.join(HOOKS)}. Methods of its own may begin with an underscore."
                )
    _refuse_misspelt_attributes(cls.__name__, vars(cls))


def _refuse_misspelt_attributes(owner: str, attributes: Mapping[str, Any]) -> None:
    for name, value in attributes.items():
        meant = meant_by(name, _ATTRIBUTES, alike=_ALIKE_ATTRIBUTE)
        # With a value of another type it is an attribute of its own, such as `names` with a list.
        if meant and isinstance(value, _ATTRIBUTES[meant].types):
            raise InvalidExtension(
                f"{owner} has {name!r}, which is never read: is {meant!r} meant? Attributes: {', '.join(_ATTRIBUTES)}."
            )


class ShippedExtension(Extension[State]):
    """An extension of the product: its hooks are async and bound what they do, so that they are called directly."""


def with_hook(extensions: Iterable[Extension[Any]], hook: str) -> list[Extension[Any]]:
    """Return those extensions that have a hook of their own."""
    return [extension for extension in extensions if hook in extension._hooks]


def with_moments(extensions: Iterable[Extension[Any]]) -> tuple[Extension[Any], ...]:
    """Return those extensions that have a hook at a moment of the turn, and not only around tool calls."""
    return tuple([extension for extension in extensions if extension._hooks - {"around_tool", *ASIDES}])


def checked_extensions(extensions: Iterable[Extension[Any]]) -> tuple[Extension[Any], ...]:
    """Return extensions that were handed in.

    Raises:
        InvalidExtension: one is none, two have the same name, or a hook or an attribute of one cannot be used.
    """
    checked: dict[str, Extension[Any]] = {}
    for extension in extensions:
        given: object = extension
        if isinstance(given, type):
            raise InvalidExtension(f"extensions: give an object of {given.__name__}, not the class.")
        if not isinstance(extension, Extension):
            raise InvalidExtension(f"extensions: {extension!r} is no Extension, but a {type(extension).__name__}.")
        if extension.name in checked:
            raise InvalidExtension(f"extensions: two are named {extension.name!r}.")
        _check_object(extension)
        checked[extension.name] = extension
    return tuple(checked.values())


def _check_object(extension: Extension[Any]) -> None:
    """Raise `InvalidExtension` for hooks that cannot be called, and attributes that mean nothing."""
    if isinstance(extension, ShippedExtension):
        return
    own: Mapping[str, Any] = getattr(extension, "__dict__", {})
    _refuse_misspelt_attributes(extension.name, own)
    for hook in HOOKS:
        if hook in own:
            raise InvalidExtension(
                f"{extension.name} sets the hook {hook!r} on an object: hooks are methods of a class."
            )
    for hook in ("acts", *(one for one in HOOKS if one in extension._hooks)):
        function = getattr(extension, hook)
        arguments = list(inspect.signature(getattr(Extension, hook)).parameters)[1:]
        mistake = positional_mistake(function, len(arguments))
        if mistake:
            raise InvalidExtension(f"{hook} of {extension.name} {mistake}: {', '.join(arguments)}.")
        if is_generator(function):
            raise InvalidExtension(f"{hook} of {extension.name} is a generator, and must return its answer.")
    if is_async(extension.acts):
        raise InvalidExtension(f"acts of {extension.name} is async: it must wait for nothing.")
    _check_attributes(extension)


def _check_attributes(extension: Extension[Any]) -> None:
    for name, kind in _ATTRIBUTES.items():
        value = getattr(extension, name)
        if not isinstance(value, kind.types) and not (name == "state_type" and value is None):
            raise InvalidExtension(f"{name} of {extension.name} must be {kind.called}, not a {type(value).__name__}.")
    if extension.state_type is not None and positional_mistake(extension.state_type, 0):
        raise InvalidExtension(f"state_type of {extension.name} must be made without arguments: give fields defaults.")


def acting(
    extensions: Iterable[Extension[Any]], context: ToolContext[Any], messages: Sequence[Message]
) -> tuple[Extension[Any], ...]:
    """Return those extensions that act in a run. One that cannot say it acts if it guards."""
    return tuple(extension for extension in extensions if _acts(extension, context, messages))


def _acts(extension: Extension[Any], context: ToolContext[Any], messages: Sequence[Message]) -> bool:
    try:
        answer: object = extension.acts(context, messages)
    except Exception:
        logger.exception("The extension %s failed in acts", extension.name, extra=log_extra(context))
        return extension.guards
    if isinstance(answer, bool):
        return answer
    discard(answer)
    sentence = "The extension %s gave a %s in acts, not True or False"
    logger.error(sentence, extension.name, type(answer).__name__, extra=log_extra(context))
    return extension.guards


@dataclass(frozen=True)
class Interceptors(ShippedExtension[None]):
    """Wraps every tool call of a turn, and of the assistants that it asks, in functions, the first outermost."""

    name = "assistant.interceptors"
    in_sub_agents = True
    functions: Sequence[ToolInterceptor]


def around_tools(extensions: Iterable[Extension[Any]]) -> tuple[ToolInterceptor, ...]:
    """Return what wraps every tool call, the outermost first."""
    found: list[ToolInterceptor] = []
    for extension in extensions:
        if isinstance(extension, Interceptors):
            found += extension.functions
        elif with_hook([extension], "around_tool"):
            found.append(extension.around_tool)
    return tuple(found)
