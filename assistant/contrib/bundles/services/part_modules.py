"""Which modules add lists to bundles: those named `bundle_parts` of optional apps. The first bundle imports them."""

from __future__ import annotations

_modules: list[str] = []


def add_parts(module: str) -> None:
    """Add lists to bundles.

    Args:
        module: the dotted name of a module with a tuple `PARTS` of `parts.AddedPart`. It is imported with the first
            bundle.
    """
    _modules.append(module)


def part_modules() -> tuple[str, ...]:
    """Return the names of the modules, in the order in which their lists are exported and imported."""
    return tuple(_modules)
