"""The runs that answers speak about: a question, what tools returned, and the values that sentences are filled with."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

NOW = datetime(2026, 3, 16, 9, 20, tzinfo=UTC)  # a Monday; 10:20 in Vienna
TIMEZONE = "Europe/Vienna"
FIXTURES = Path(__file__).resolve().parents[4] / "tools" / "fixtures"


@dataclass(frozen=True)
class Call:
    """A tool call of a run: what it was called with and what it returned."""

    name: str
    arguments: dict[str, Any]
    result: Any
    read_only: bool = True
    failed: bool = False


@dataclass(frozen=True)
class Scene:
    """A run up to its answer.

    Attributes:
        values: what sentences are filled with, by the names of their slots.
        others: names of people and things that the run did not return, for swaps.
    """

    question: str
    calls: Sequence[Call]
    values: dict[str, Any]
    others: Sequence[str] = ()


def _sales(tenant: str) -> dict[str, Any]:
    return json.loads((FIXTURES / tenant / "sales.json").read_text(encoding="utf-8"))


SALES = {tenant: _sales(tenant) for tenant in ("acme", "globex")}
PEOPLE = {tenant: {customer["number"]: customer for customer in sales["customers"]} for tenant, sales in SALES.items()}


def _day(days_ago: float) -> date:
    return (NOW - timedelta(days=days_ago)).date()


def _order(tenant: str, order: dict[str, Any]) -> dict[str, Any]:
    """Return an order as `find_orders` returns it."""
    return {
        "number": order["number"],
        "customer_id": order["customer"],
        "customer": PEOPLE[tenant][order["customer"]]["name"],
        "status": order["status"],
        "total": order["total"],
        "currency": SALES[tenant]["currency"],
        "placed_on": _day(order["days_ago"]).isoformat(),
    }


def _slots(order: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {
        f"{prefix}.number": order["number"],
        f"{prefix}.name": order["customer"],
        f"{prefix}.status": order["status"],
        f"{prefix}.total": Decimal(order["total"]),
        f"{prefix}.date": date.fromisoformat(order["placed_on"]),
    }


def _strangers(tenant: str, known: Sequence[str]) -> list[str]:
    return [person["name"] for person in PEOPLE[tenant].values() if person["name"] not in known]


def _buyers(tenant: str) -> list[int]:
    counts: dict[int, int] = {}
    for order in SALES[tenant]["orders"]:
        counts[order["customer"]] = counts.get(order["customer"], 0) + 1
    return [number for number, count in counts.items() if 3 <= count <= 5]


def _tenant(index: int) -> str:
    return "acme" if index % 2 == 0 else "globex"


def customer_orders(index: int) -> Scene:
    """The orders of one customer, the newest first."""
    tenant = _tenant(index)
    buyers = _buyers(tenant)
    customer = PEOPLE[tenant][buyers[index // 2 % len(buyers)]]
    orders = [_order(tenant, one) for one in SALES[tenant]["orders"] if one["customer"] == customer["number"]]
    orders.sort(key=lambda order: order["placed_on"], reverse=True)
    totals = [Decimal(order["total"]) for order in orders]
    values = {
        "name": customer["name"],
        "first": customer["name"].split()[0],
        "id": customer["number"],
        "city": customer["city"].split(",")[0],
        "n": len(orders),
        "sum": sum(totals),
        "sum2": totals[0] + totals[1],
        "diff": abs(totals[0] - totals[1]),
        "max": max(totals),
        "min": min(totals),
        "average": sum(totals) / len(totals),
    }
    for position, order in enumerate(orders):
        values |= _slots(order, f"o{position}")
    values |= _slots(orders[-1], "old")
    summary = {key: customer[key] for key in ("name", "company", "city", "email", "status")}
    return Scene(
        f"What has {customer['name']} ordered from us?",
        [
            Call(
                "find_customers",
                {"query": customer["name"]},
                {"total": 1, "customers": [{"customer_id": customer["number"], **summary}]},
            ),
            Call(
                "find_orders",
                {"customer_id": customer["number"]},
                {"total_found": len(orders), "orders": orders},
            ),
        ],
        values,
        _strangers(tenant, [customer["name"]]),
    )


def one_order(index: int) -> Scene:
    """One order with its lines."""
    tenant = _tenant(index)
    several = [one for one in SALES[tenant]["orders"] if len(one["lines"]) >= 2]
    order = several[(index // 2 * 3 + 1) % len(several)]
    record = {**_order(tenant, order), "lines": order["lines"]}
    values = _slots(record, "o")
    for position, line in enumerate(order["lines"]):
        values |= {
            f"l{position}.product": line["product"],
            f"l{position}.quantity": line["quantity"],
            f"l{position}.price": Decimal(line["unit_price"]),
            f"l{position}.cost": Decimal(line["unit_price"]) * line["quantity"],
        }
    values["lines"] = len(order["lines"])
    values["pieces"] = sum(line["quantity"] for line in order["lines"])
    values["goods"] = sum(Decimal(line["unit_price"]) * line["quantity"] for line in order["lines"])
    values["id"] = order["customer"]
    return Scene(
        f"Can you tell me about order {order['number']}?",
        [Call("get_order", {"number": order["number"]}, record)],
        values,
        _strangers(tenant, [record["customer"]]),
    )


def order_queue(index: int) -> Scene:
    """The newest orders of one status."""
    tenant = _tenant(index)
    status = ("open", "paid", "shipped", "refunded")[index % 4]
    found = [_order(tenant, one) for one in SALES[tenant]["orders"] if one["status"] == status]
    found.sort(key=lambda order: order["placed_on"], reverse=True)
    rows = found[:4]
    values: dict[str, Any] = {"status": status, "found": len(found), "n": len(rows)}
    for position, order in enumerate(rows):
        values |= _slots(order, f"o{position}")
    totals = [Decimal(order["total"]) for order in rows]
    values |= {"sum": sum(totals), "max": max(totals), "sum2": totals[0] + totals[1], "sum3": sum(totals[:3])}
    return Scene(
        f"Which of our orders are {status}? Show me the latest ones.",
        [Call("find_orders", {"status": status, "limit": 4}, {"total_found": len(found), "orders": rows})],
        values,
        _strangers(tenant, [order["customer"] for order in rows]),
    )


def customer_record(index: int) -> Scene:
    """The record of one customer."""
    tenant = _tenant(index)
    people = [person for person in PEOPLE[tenant].values() if person["company"]]
    person = people[(index // 2 * 2 + 1) % len(people)]
    orders = sum(order["customer"] == person["number"] for order in SALES[tenant]["orders"])
    since = _day(person["days_ago"])
    record = {
        "customer_id": person["number"],
        **{key: person[key] for key in ("name", "company", "email", "phone", "city", "status", "notes")},
        "customer_since": since.isoformat(),
        "orders": orders,
    }
    values = {
        "name": person["name"],
        "company": person["company"],
        "email": person["email"],
        "phone": person["phone"],
        "city": person["city"].split(",")[0],
        "since": since,
        "year": since.year,
        "orders": orders,
        "id": person["number"],
        "status": person["status"],
    }
    return Scene(
        f"Do we have contact details for customer {person['number']}?",
        [Call("get_customer", {"customer_id": person["number"]}, record)],
        values,
        _strangers(tenant, [person["name"]]),
    )


RENTERS = (
    ("L-2041", "Ingrid Sommer", "Gartenweg 7", "845.00", "62.5", "WZ-11873"),
    ("L-1987", "Dragan Petrović", "Am Hafen 12", "1120.50", "84", "WZ-20415"),
    ("L-2230", "Familie Oduya", "Lindenstraße 31", "1390.00", "103.8", "WZ-09356"),
    ("L-1754", "Clara Weiss", "Gartenweg 9", "679.90", "41.2", "WZ-11902"),
    ("L-2118", "Tobias Lang", "Marktplatz 3", "932.00", "70", "WZ-15540"),
    ("L-2307", "Fatma Yıldız", "Am Hafen 14", "1045.25", "78.4", "WZ-20488"),
)


def rent_ledger(index: int) -> Scene:
    """A landlord's ledger of one lease, with an open rent."""
    lease, renter, address, rent, area, _meter = RENTERS[index % len(RENTERS)]
    amount = Decimal(rent)
    arrears = amount - 300 - index * 10
    entries = (
        ("2026-01-01", f"2026-01-0{2 + index % 4}", rent, f"RE-{4400 + index * 7}"),
        ("2026-02-01", f"2026-02-{10 + index}", rent, f"RE-{4500 + index * 9}"),
        ("2026-03-01", f"2026-03-0{3 + index % 5}", str(amount - arrears), f"RE-{4600 + index * 11}"),
    )
    payments = [dict(zip(("due", "paid_on", "amount", "reference"), entry, strict=True)) for entry in entries]
    deposit = amount * 3
    result = {
        "lease": lease,
        "renter": renter,
        "address": address,
        "monthly_rent": rent,
        "deposit": str(deposit),
        "currency": "EUR",
        "area_m2": float(area),
        "starts_on": f"20{19 + index % 5}-0{4 + index % 5}-01",
        "notice_months": 3,
        "payments": payments,
        "balance": str(-arrears),
    }
    paid = sum(Decimal(payment["amount"]) for payment in payments)
    values = {
        "lease": lease,
        "renter": renter,
        "address": address,
        "rent": amount,
        "deposit": deposit,
        "area": Decimal(area),
        "start": date.fromisoformat(result["starts_on"]),
        "arrears": arrears,
        "paid": paid,
        "last": amount - arrears,
        "d0": date.fromisoformat(payments[0]["paid_on"]),
        "d1": date.fromisoformat(payments[1]["paid_on"]),
        "d2": date.fromisoformat(payments[2]["paid_on"]),
        "r0": payments[0]["reference"],
        "r1": payments[1]["reference"],
        "r2": payments[2]["reference"],
        "late": (date.fromisoformat(payments[1]["paid_on"]) - date(2026, 2, 1)).days,
        "yearly": amount * 12,
    }
    others = [one[1] for one in RENTERS if one[1] != renter]
    return Scene(f"Is the rent of {lease} paid up?", [Call("rent_ledger", {"lease": lease}, result)], values, others)


def meter_readings(index: int) -> Scene:
    """A landlord's readings of a water meter."""
    _lease, renter, address, _rent, _area, meter = RENTERS[(index + 1) % len(RENTERS)]
    base = Decimal("388.4") + Decimal("41.3") * index
    steps = [Decimal("31.7") + index, Decimal("28.9") + index, Decimal("35.2") + index]
    counts = [base]
    for step in steps:
        counts.append(counts[-1] + step)
    days = ["2025-06-30", "2025-09-29", "2025-12-30", "2026-03-11"]
    readings = [
        {"read_on": day, "cubic_metres": float(count), "read_by": reader}
        for day, count, reader in zip(days, counts, ("Jens Falk", "Jens Falk", "Mona Adler", "Mona Adler"), strict=True)
    ]
    result = {
        "meter": meter,
        "renter": renter,
        "address": address,
        "kind": "cold water",
        "readings": readings,
        "calibrated_until": f"{2028 + index % 3}-12-31",
    }
    values = {
        "meter": meter,
        "renter": renter,
        "address": address,
        "c0": counts[0],
        "c2": counts[2],
        "c3": counts[3],
        "used": counts[3] - counts[2],
        "all": counts[3] - counts[0],
        "t0": date(2025, 6, 30),
        "t2": date(2025, 12, 30),
        "t3": date(2026, 3, 11),
        "reader": "Mona Adler",
        "until": 2028 + index % 3,
    }
    return Scene(
        f"What does meter {meter} show?",
        [Call("meter_readings", {"meter": meter}, result)],
        values,
        ["Petra Kuhn", "Samir Haddad", "Ole Brandt", "Rosa Lenz"],
    )


TICKETS = (
    ("Badge printer offline", "Marisol Vega", "high", 3.5),
    ("VPN drops every hour", "Kwame Mensah", "urgent", 7.25),
    ("New laptop for Devon Hart", "Marisol Vega", "low", 1.5),
    ("Projector in room Aspen flickers", "Ian Doherty", "normal", 2.0),
    ("Mailbox of Lucy Tran is full", "Ian Doherty", "normal", 0.75),
    ("Time clock shows the wrong hour", "Kwame Mensah", "high", 4.25),
    ("Shared drive asks for a password", "Yuki Tanaka", "urgent", 5.5),
)


def tickets(index: int) -> Scene:
    """The open tickets of a service desk of a host project."""
    chosen = [TICKETS[(index + offset) % len(TICKETS)] for offset in range(4)]
    rows = []
    for position, (title, assignee, priority, hours) in enumerate(chosen):
        opened = datetime(2026, 3, 13 - position * 3, 8 + position, 14 + 7 * index % 40, tzinfo=UTC)
        rows.append(
            {
                "key": f"OPS-{118 + index * 13 + position * 5}",
                "title": title,
                "assignee": assignee,
                "priority": priority,
                "opened_at": opened.isoformat(),
                "hours_spent": hours,
                "url": f"https://desk.example/t/{118 + index * 13 + position * 5}",
            }
        )
    values: dict[str, Any] = {"n": len(rows), "hours": sum(Decimal(str(row["hours_spent"])) for row in rows)}
    for position, row in enumerate(rows):
        opened = datetime.fromisoformat(row["opened_at"]) + timedelta(hours=1)  # in Vienna, before summer time
        values |= {
            f"t{position}.key": row["key"],
            f"t{position}.title": row["title"],
            f"t{position}.who": row["assignee"],
            f"t{position}.priority": row["priority"],
            f"t{position}.day": opened.date(),
            f"t{position}.time": opened,
            f"t{position}.hours": Decimal(str(row["hours_spent"])),
        }
    values["hours2"] = values["t0.hours"] + values["t1.hours"]
    values["age"] = (date(2026, 3, 16) - values["t3.day"]).days
    known = {row["assignee"] for row in rows}
    spare = ["Helena Ruiz", "Bjorn Aas", "Priscilla Odum"]
    return Scene(
        "Which tickets are open at the moment?",
        [Call("list_tickets", {"state": "open"}, rows)],
        values,
        [name for name in spare if name not in known],
    )


PLANS = (
    ("northwind", "Northwind Traders", 1284530, 5377, 37.25, 50, 0.0042, "49.00", 18),
    ("blueleaf", "Blueleaf Clinic", 86412, 391, 8.6, 10, 0.0125, "19.00", 6),
    ("harbor", "Harbor & Sons", 402975, 1204, 121.5, 250, 0.003, "129.00", 41),
    ("kitekit", "Kitekit Schools", 2950118, 22140, 412.75, 500, 0.0075, "249.00", 133),
    ("ostrava", "Ostrava Print", 57203, 88, 4.4, 10, 0.0015, "19.00", 3),
    ("lumen", "Lumen Dental", 730664, 2810, 61.9, 100, 0.0038, "79.00", 27),
)


def usage(index: int) -> Scene:
    """What an organisation of a host project uses of its plan."""
    slug, name, requests, errors, used, limit, rate, price, seats = PLANS[index % len(PLANS)]
    result = {
        "organisation": {"slug": slug, "name": name, "seats": seats},
        "period": {"from": "2026-02-01", "to": "2026-02-28"},
        "requests": requests,
        "errors": errors,
        "error_rate": rate,
        "storage_gb": used,
        "storage_limit_gb": limit,
        "price_per_month": {"amount": price, "currency": "USD"},
        "renews_at": f"2026-0{4 + index % 5}-1{index % 6}T00:00:00Z",
        "response_ms": {"median": 180 + index * 7, "p95": 640 + index * 31},
    }
    values = {
        "name": name,
        "slug": slug,
        "requests": requests,
        "errors": errors,
        "used": Decimal(str(used)),
        "limit": limit,
        "rate": Decimal(str(rate)) * 100,
        "share": round(used / limit * 100),
        "free": Decimal(str(limit)) - Decimal(str(used)),
        "price": Decimal(price),
        "yearly": Decimal(price) * 12,
        "seats": seats,
        "renews": date.fromisoformat(result["renews_at"][:10]),
        "median": 180 + index * 7,
        "p95": 640 + index * 31,
    }
    others = [one[1] for one in PLANS if one[1] != name]
    return Scene(f"How much did {slug} use last month?", [Call("usage_report", {"slug": slug}, result)], values, others)


SLOTS = (
    ("Aspen", 12, "BK-7731", "Dana Whitlock", 9, 30, 11, 0),
    ("Birch", 6, "BK-7802", "Omar Farouk", 13, 0, 14, 30),
    ("Cedar", 20, "BK-7845", "Signe Holm", 15, 15, 17, 0),
    ("Juniper", 8, "BK-7910", "Theo Marchetti", 8, 45, 10, 15),
    ("Maple", 16, "BK-7966", "Ruth Adeyemi", 11, 0, 12, 30),
)


def booking(index: int) -> Scene:
    """A booking of a room of a host project; the times are with the tenant's offset."""
    room, seats, code, person, hour, minute, end_hour, end_minute = SLOTS[index % len(SLOTS)]
    day = date(2026, 3, 17) + timedelta(days=index)
    result = {
        "booking": code,
        "room": {"name": room, "seats": seats, "floor": 2 + index % 3},
        "booked_by": person,
        "starts_at": f"{day}T{hour:02}:{minute:02}:00+01:00",
        "ends_at": f"{day}T{end_hour:02}:{end_minute:02}:00+01:00",
        "catering": {"persons": seats - 2, "price": f"{(seats - 2) * 8.5:.2f}", "currency": "EUR"},
    }
    starts = datetime(day.year, day.month, day.day, hour, minute)
    ends = datetime(day.year, day.month, day.day, end_hour, end_minute)
    values = {
        "room": room,
        "seats": seats,
        "code": code,
        "who": person,
        "start": starts,
        "end": ends,
        "day": day,
        "minutes": int((ends - starts).total_seconds() // 60),
        "floor": 2 + index % 3,
        "persons": seats - 2,
        "price": Decimal(f"{(seats - 2) * 8.5:.2f}"),
        "days": (day - date(2026, 3, 16)).days,
    }
    others = [one[3] for one in SLOTS if one[3] != person]
    return Scene(f"When is booking {code}?", [Call("get_booking", {"code": code}, result)], values, others)


_HEADING = re.compile(r"^#{1,3} |^[A-Z ]{4,}$", re.MULTILINE)


def document(name: str) -> Callable[[int], Scene]:
    """Return the scene of a search that found the passages of one of the demo's documents, such as "acme/rental.md"."""

    def scene(index: int) -> Scene:
        text = (FIXTURES / name).read_text(encoding="utf-8")
        title = text.splitlines()[0].lstrip("# ")
        starts = [found.start() for found in _HEADING.finditer(text)] + [len(text)]
        parts = [text[start:end].strip() for start, end in itertools.pairwise(starts)]
        results = [
            {
                "number": f"7.{position}",
                "source": title,
                "heading": part.splitlines()[0].lstrip("# "),
                "page": None,
                "text": part,
                "source_id": f"doc-7.{position}",
            }
            for position, part in enumerate(parts, start=1)
        ]
        return Scene(
            f"What do our documents say about {title.lower()}?",
            [
                Call(
                    "search_docs",
                    {"queries": [title.lower()]},
                    {"results": results, "note": "Answer from these passages."},
                )
            ],
            {},
        )

    return scene
