"""What is known to run or to load something where text becomes a page: a corpus by family, in our own words."""

from __future__ import annotations

from dataclasses import dataclass

from tests.vectors import addresses, markdown, markup, mutation

# In a vector: what runs, and an address of somebody else's.
RUN, OUTSIDE = "@RUN", "@OUT"
OUTSIDE_HOST = "evil.example"


@dataclass(frozen=True, slots=True)
class Vector:
    """One attack; `text` calls `ran(number)` in a page that runs it, or asks for `https://evil.example/number`."""

    number: int
    family: str
    text: str

    @property
    def is_markdown(self) -> bool:
        """Whether it takes a Markdown parser to become markup."""
        return self.family in markdown.FAMILIES


def with_number(text: str, number: int) -> str:
    """`text` with what runs and where it leads put in."""
    return text.replace(RUN, f"ran({number})").replace(OUTSIDE, f"https://{OUTSIDE_HOST}/{number}")


FAMILIES = {**markup.FAMILIES, **mutation.FAMILIES, **addresses.FAMILIES, **markdown.FAMILIES}
CORPUS = [
    Vector(number, family, with_number(text, number))
    for number, (family, text) in enumerate(
        ((family, text) for family, texts in FAMILIES.items() for text in texts), start=1
    )
]

# Many ways out of an attribute, an element and a script at once, short enough for a name.
POLYGLOT = with_number("\"'>--></title></script><img src=@OUT onerror=@RUN><svg onload=@RUN>{{7*7}}", 9001)
