"""Tools for the measurements: `add`, which is called, and reports, which only add their schemas to requests."""

from __future__ import annotations

from typing import Annotated, Literal

from assistant.toolkit import Param, Tool, ToolContext, tool


@tool(read_only=True)
async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


async def _report(
    context: ToolContext,
    region: Annotated[str, Param("Where the sales were made")],
    quarter: Literal["Q1", "Q2", "Q3", "Q4"],
    year: Annotated[int, Param("A year of four digits", ge=2000, le=2100)] = 2026,
    limit: Annotated[int, Param("How many rows at most")] = 10,
) -> str:
    """Report sales by region and quarter."""
    return f"{context.tenant.slug}: {region} {quarter} {year}, {limit} rows"


def _named(name: str) -> Tool:
    return Tool.from_function(_report, name=name, description=f"The report {name}: sales by region and quarter.")


sales_report = _named("sales_report")
returns_report = _named("returns_report")
rental_report = _named("rental_report")
repair_report = _named("repair_report")
stock_report = _named("stock_report")
staff_report = _named("staff_report")
