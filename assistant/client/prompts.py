"""Prompts with variables for `ChatClient`, in the syntax of prompts in the admin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from assistant.core.values.prompt_template import names_in, resolve


class PromptVariables(ValueError):
    """A prompt and the variables that are given do not fit each other.

    Attributes:
        missing: names in the prompt without a value; "" for two braces that begin no variable.
        unknown: variables that no prompt of the call names.
        single: variables with a value that stand in single braces alone, where they are text.
    """

    def __init__(self, missing: Iterable[str] = (), unknown: Iterable[str] = (), single: Iterable[str] = ()) -> None:
        self.missing = tuple(missing)
        self.single = tuple(single)
        self.unknown = tuple(name for name in unknown if name not in self.single)
        sentences = []
        if self.missing:
            named = ", ".join(f"{{{{ {name} }}}}" if name else "two braces without }}" for name in self.missing)
            sentences.append(f"There is no value for {named}. Two braces as text are \\{{{{.")
        if self.unknown:
            sentences.append(f"No prompt of the call names the variables {', '.join(self.unknown)}.")
        sentences += [f"{{{name}}} is text: write {{{{ {name} }}}} for the variable {name}." for name in self.single]
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

    Other templates have variables in single braces, or after a `$` and in them: what is meant so would be sent as text.

    Args:
        variables: each must be named by a template.
        defaults: values of variables that are not among these; they need not be named.

    Raises:
        PromptVariables: a variable with a value stands in single braces, and nowhere in double ones; or as
            `PromptTemplate.fill` does, for all templates together.
    """
    templates = list(templates)
    named = {name for template in templates for name in template.names}
    values = {**(defaults or {}), **variables}
    missing = sorted(named - values.keys())
    unknown = [name for name in variables if name not in named]
    texts = [template.text for template in templates]
    single = [name for name in values if name not in named and any(_stands_single(name, text) for text in texts)]
    if missing or unknown or single:
        raise PromptVariables(missing, unknown, single)
    return [resolve(template.text, lambda name: str(values[name]), users={}) for template in templates]


def _stands_single(name: str, text: str) -> bool:
    return re.search(rf"(?<!\{{)\{{\s*{re.escape(name)}\s*\}}(?!\}})", text) is not None
