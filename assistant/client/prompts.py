"""Prompts with variables for `ChatClient`, in the syntax of prompts in the admin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assistant.core.values.prompt_template import names_in, resolve


class PromptVariables(ValueError):
    """A prompt and the variables that are given do not fit each other.

    Attributes:
        missing: names in the prompt without a value; "" for two braces that begin no variable.
        unknown: variables that no prompt of the call names.
    """

    def __init__(self, missing: Iterable[str] = (), unknown: Iterable[str] = ()) -> None:
        self.missing = tuple(missing)
        self.unknown = tuple(unknown)
        sentences = []
        if self.missing:
            named = ", ".join(f"{{{{ {name} }}}}" if name else "two braces without }}" for name in self.missing)
            sentences.append(f"There is no value for {named}. Two braces as text are \\{{{{.")
        if self.unknown:
            sentences.append(f"No prompt of the call names the variables {', '.join(self.unknown)}.")
        super().__init__(" ".join(sentences))


class PromptTemplate:
    """A text with variables, such as `You help customers in {{ city }}.`; two braces as text are `\\\\{{`.

    Args:
        text: names of variables stand between two braces on each side.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.names = tuple(names_in(text))

    def fill(self, **variables: Any) -> str:
        """Return the text with values, which are never read as templates themselves.

        Raises:
            PromptVariables: a variable has no value, or a value no variable.
        """
        return filled([self], variables)[0]

    def __repr__(self) -> str:
        return f"PromptTemplate({self.text!r})"


def filled(
    templates: Iterable[PromptTemplate], variables: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> list[str]:
    """Return the texts of templates with their values.

    Args:
        variables: each must be named by a template.
        defaults: values of variables that are not among these; they need not be named.

    Raises:
        PromptVariables: as `PromptTemplate.fill` does, for all templates together.
    """
    templates = list(templates)
    named = {name for template in templates for name in template.names}
    values = {**(defaults or {}), **variables}
    missing = sorted(named - values.keys())
    unknown = [name for name in variables if name not in named]
    if missing or unknown:
        raise PromptVariables(missing, unknown)
    return [resolve(template.text, lambda name: str(values[name]), users={}) for template in templates]
