# ruff: noqa: E501 - sentences
"""Sentences that are only counted: they were written before the matching, and nothing was fitted to them."""

from tests.contrib.receipts.answers.rendering import Template
from tests.contrib.receipts.answers.scenes import (
    booking,
    customer_orders,
    customer_record,
    document,
    meter_readings,
    one_order,
    order_queue,
    rent_ledger,
    tickets,
    usage,
)

DATA = (
    Template(
        customer_orders,
        "So far {n|word!sum} orders have come from {name!name}, and the newest, {o0.number!digit}, dates from {o0.date|us!date}. We billed {o0.total|money!digit} for it.",
    ),
    Template(
        customer_orders,
        "Looking at customer no. {id!digit}, there is one order from {o0.date|ordinal!date} ({o0.total|moneyafter!digit}) and an earlier one from {o1.date|ordinal!date} ({o1.total|moneyafter}). That makes {sum2|moneyafter!sum} for both.",
    ),
    Template(
        customer_orders,
        "**{name!name}**\n\n- latest: {o0.number!digit}, {o0.date|iso!date}\n- before that: {o1.number!digit}, {o1.date|iso!date}\n- oldest: {old.number}, {old.date|iso}\n\nNothing else is on record.",
    ),
    Template(
        customer_orders,
        "Hi! {first}'s orders range from {min|money!digit} to {max|money!digit}, {n} in total, for an overall {sum|money!sum}.",
    ),
    Template(
        customer_orders,
        "The first thing {name!name} ever bought from us was order {old.number!digit} on {old.date|long!date}. It cost {old.total|number2!digit}.",
    ),
    Template(
        customer_orders,
        "As of today the last purchase was {o0.date|ago!date}, for {o0.total|money!digit}; its number is {o0.number!digit}.",
    ),
    Template(
        customer_orders,
        "{o0.number} was more or less expensive than {o1.number!digit}? They differ by {diff|money!sum}: {o0.total|money} against {o1.total|money!digit}.",
    ),
    Template(
        one_order,
        "I pulled up {o.number!digit}. The buyer is {o.name!name} and the amount due was {o.total|money!digit}, including {l1.quantity!digit} × {l1.product}.",
    ),
    Template(
        one_order,
        "Our system shows {o.date|us!date} as the day it was placed, {o.name!name} as the customer (no. {id!digit}), and {o.total|moneyafter!digit} as the total.",
    ),
    Template(
        one_order,
        "| Product | Pieces | Price each |\n|---|---|---|\n| {l0.product} | {l0.quantity!digit} | {l0.price|number2!digit} |\n| {l1.product} | {l1.quantity} | {l1.price|number2!digit} |\n\nTotal: {o.total|money!digit}",
    ),
    Template(
        one_order,
        "Whoever packed it put in {l0.quantity} of the {l0.product}, which come to {l0.cost|money!sum}, and {l1.quantity!digit} of the {l1.product}, which come to {l1.cost|money!sum}.",
    ),
    Template(
        one_order,
        'Mr or Ms {o.name|surname!name} bought this on {o.date|slash!date}. The status reads "{o.status}", and {o.total|money!digit} was charged.',
    ),
    Template(
        order_queue,
        "At the moment I count {found!digit} {status} orders. {o0.name!name} placed the most recent ({o0.number!digit}, {o0.date|long!date}).",
    ),
    Template(
        order_queue,
        "1. {o0.name!name}, order {o0.number!digit}, {o0.total|moneyafter}\n2. {o1.name!name}, order {o1.number}, {o1.total|moneyafter!digit}\n\nFurther down: {o2.number} and {o3.number}. The four make {sum|moneyafter!sum}.",
    ),
    Template(
        order_queue,
        "The top one among them, at {max|money!digit}, stands out. {o2.name!name} is in third place with order {o2.number!digit} of {o2.date|noyear!date}.",
    ),
    Template(
        order_queue,
        "Adding up the newest pair gives {sum2|money!sum}, namely {o0.total|money!digit} for {o0.number} and {o1.total|money} for {o1.number!digit}.",
    ),
    Template(
        customer_record,
        "That number belongs to {company}. Your contact there is {name!name}, {email!digitless}, tel. {phone!digit}.",
    ),
    Template(
        customer_record,
        "They joined on {since|us!date}, and the record counts {orders!digit} orders under number {id!digit}. The account is {status}.",
    ),
    Template(
        customer_record,
        "| Field | Value |\n|---|---|\n| Contact | {name!name} |\n| E-mail | {email!digitless} |\n| Since | {since|long!date} |",
    ),
    Template(
        rent_ledger,
        "Not quite: under {lease!digit} there is {arrears|eur!digit} outstanding. Of the {rent|eur!digit} for March only {last|eur!digit} has come in.",
    ),
    Template(
        rent_ledger,
        "{renter!name} lives at {address}. The newest entry is {r2!digit}, booked on {d2|us!date}; the one before is {r1!digit} from {d1|us}.",
    ),
    Template(
        rent_ledger,
        "Since New Year {paid|eurafter!sum} has been received in total. The January rent was here on {d0|ordinal!date}, the February rent on {d1|ordinal!date}.",
    ),
    Template(
        rent_ledger,
        "It is a flat of {area!digit} square metres, let since {start|long!date} for {rent|eurafter!unit} a month; three rents, {deposit|eurafter!digit}, are held as the deposit.",
    ),
    Template(
        meter_readings,
        "On {t3|us!date} {reader!name} noted {c3!digit} cubic metres, and at the end of December it was {c2!digit}.",
    ),
    Template(
        meter_readings,
        "The household of {renter!name} used {used!sum} m³ between {t2|noyear!date} and {t3|noyear!date}, by meter {meter!digit}.",
    ),
    Template(
        tickets,
        'Right now the desk has {n|word!sum} open ones, {t0.key} to {t3.key!digit}. {t3.who!name} looks after the oldest, "{t3.title}".',
    ),
    Template(
        tickets,
        "Most work went in like this:\n\n- {t0.key}: {t0.hours!digit} hours, {t0.who!name}\n- {t1.key!digit}: {t1.hours!digit} hours, {t1.who}\n\nThat is {hours2!sum} hours for the pair.",
    ),
    Template(
        usage,
        "Your organisation, {name!name}, sent {requests|int!digit} requests; {errors|int!digit} of them went wrong ({rate!digit} %).",
    ),
    Template(
        usage,
        "Of the {limit!digit} GB in your plan, {used!digit} GB are taken. You pay {price|usd!unit} monthly, and the plan renews on {renews|long!date}.",
    ),
    Template(
        booking,
        "{who!name} has reserved {room} ({code!digit}). It starts at {start|hour12!digit} on {day|us!date} and ends at {end|hour12}.",
    ),
    Template(
        booking,
        "Room {room} takes up to {seats!digit} persons. Food for {persons!digit} was ordered at {price|eur!unit}, and the slot lasts {minutes!sum} minutes.",
    ),
    # German
    Template(
        customer_orders,
        "Von {name!name} liegen {n|deword!sum} Bestellungen vor, zuletzt die Nummer {o0.number!digit} vom {o0.date|dots!date} zu {o0.total|demoney!digit}.",
        "de",
    ),
    Template(
        customer_orders,
        "Die beiden letzten Einkäufe kosteten {o0.total|demoney!digit} und {o1.total|demoney!digit}, in Summe also {sum2|demoney!sum}. Der erste überhaupt war am {old.date|delong!date}.",
        "de",
    ),
    Template(
        one_order,
        "Unter {o.number!digit} finde ich eine Bestellung von {o.name!name}, Kundennummer {id!digit}, aufgegeben am {o.date|delong!date}.",
        "de",
    ),
    Template(
        one_order,
        "Berechnet wurden {o.total|demoney!digit}. Enthalten sind unter anderem {l0.quantity!digit} × {l0.product} für zusammen {l0.cost|demoney!sum}.",
        "de",
    ),
    Template(
        order_queue,
        "Hier die neuesten:\n\n- {o0.number!digit}, {o0.name}, {o0.total|demoney}\n- {o1.number}, {o1.name!name}, {o1.total|demoney!digit}\n\nBeide zusammen: {sum2|demoney!sum}",
        "de",
    ),
    Template(
        customer_record,
        "Ansprechpartner bei {company} ist {name!name}. Telefon: {phone!digit}, E-Mail: {email!digitless}, Kundennummer {id!digit}.",
        "de",
    ),
    Template(
        rent_ledger,
        "Beim Vertrag {lease!digit} sind noch {arrears|deeurcode!digit} offen. Die letzte Zahlung über {last|deeurcode!digit} kam am {d2|delong!date}.",
        "de",
    ),
    Template(
        rent_ledger,
        "{renter!name} wohnt auf {area|de!digit} m² und zahlt dafür {rent|deeuro!unit} im Monat, und zwar seit dem {start|dedots!date}.",
        "de",
    ),
    Template(
        meter_readings,
        "Am {t2|delong!date} hat {reader!name} {c2|de!digit} m³ abgelesen, am {t3|delong} waren es {c3|de!digit} m³.",
        "de",
    ),
    Template(
        usage,
        "{name!name} zahlt {price|de!digit} Dollar im Monat für {seats!digit} Plätze. Verlängert wird am {renews|delong!date}.",
        "de",
    ),
    Template(
        booking,
        "{who!name} hat den Raum am {day|denoyear!date} ab {start|dehhmm!digit} gebucht, für insgesamt {minutes!sum} Minuten.",
        "de",
    ),
)

DOCUMENTS = (
    Template(
        document("acme/refunds-and-returns.md"),
        "Our policy gives customers {=30 days!digit} for a return. After a mistake on our side it is even {=60 days!unit}.",
    ),
    Template(
        document("acme/refunds-and-returns.md"),
        "Expect your refund no later than {=five working days!word} after the parcel is back in Linz. Things below {=€20!unit} you may keep.",
    ),
    Template(
        document("acme/rental.md"),
        "An avalanche kit is {=€15!digit} a day and a 4-person tent {=€25!unit}. You can reserve up to {=6 months!unit} in advance.",
    ),
    Template(
        document("acme/repair-service.md"),
        "Patching a down jacket takes {=7 days!unit} and is charged at {=25 EUR!unit} per hole. Unwashed things cost {=15 EUR!digit} extra.",
    ),
    Template(
        document("acme/warranty.md"),
        "By law you have {=two years!word}. Boot soles are glued back on for {=3 years!unit}, after which a new sole is {=79 EUR!digit}.",
    ),
    Template(
        document("acme/shipping-and-delivery.md"),
        "To Switzerland the express parcel is {=€29.90!digit}. Heavy tents above {=15 kg!unit} travel by freight for {=39 euros!unit}.",
    ),
    Template(
        document("acme/opening-hours-and-stores.md"),
        "Innsbruck opens at {=9:00!digit} and closes at {=18:30!digit}; in winter there is a Sunday opening from {=10 am!digit}.",
    ),
    Template(
        document("acme/payment-and-gift-cards.md"),
        "Above {=500 EUR!digit} six instalments are possible, at {=4.9 percent!digit} a year. Club credit runs out after {=12 months!unit}.",
    ),
    Template(
        document("globex/warranty-terms.md"),
        "Sensors are only covered for {=6 months!unit}. Having an instrument evaluated is {=$250!digit}, and repairs carry {=90 days!unit}.",
    ),
    Template(
        document("globex/calibration-service.md"),
        "Calibrate once every {=12 months!unit}. The range for pressure goes up to {=10,000 psi!unit}, and liquid flow costs {=640 USD!digit}.",
    ),
    Template(
        document("globex/refund-and-return-policy.md"),
        "Within {=14 days!unit} of delivery you may return it, less {=15 percent!digit} for restocking. Defects must be reported in {=5 business days!digit}.",
    ),
    Template(
        document("globex/rental-and-loan-instruments.md"),
        "Renting a gas analyzer is {=780 USD!unit} a week, a pressure calibrator {=$260!digit}. A damage waiver adds {=6 percent!digit}.",
    ),
    Template(
        document("globex/support-hours-and-contacts.md"),
        "A field engineer is {=1,450 USD!digit} a day; book {=10 business days!unit} ahead. The office is open from {=8 am!digit} to 5 pm.",
    ),
    Template(
        document("acme/rental.md"),
        "Stornieren geht kostenlos bis {=48 Stunden!unit} vorher. Ein verlorenes LVS-Gerät kostet {=220 €!digit}.",
        "de",
    ),
    Template(
        document("acme/shipping-and-delivery.md"),
        "Nach Österreich kostet der Versand {=4,90 Euro!digit}, ab {=60 Euro!unit} nichts. Abholen können Sie {=7 Tage!unit} lang.",
        "de",
    ),
    Template(
        document("acme/opening-hours-and-stores.md"),
        "Wien hat werktags von {=9:30!digit} bis {=19 Uhr!digit} offen, am Samstag bis 18 Uhr.",
        "de",
    ),
)

CLEAN = (
    Template(customer_orders, "{name} is one of our regulars: {n|word} orders, {sum|money} all told. The average is roughly {average|whole}."),
    Template(customer_orders, "Two things stand out. The order of {old.date|month} was the first; the one of {o0.date|iso} the latest. The highest bill was {max|money}."),
    Template(customer_orders, "Here they are, newest first:\n\n1. `{o0.number}` for {o0.total|money}\n2. `{o1.number}` for {o1.total|money}\n3. `{o2.number}` for {o2.total|money}\n\nI can open any of these for you."),
    Template(customer_orders, "It was on a {o0.date|weekday}, {o0.date|long}, that {first} last ordered ({o0.total|whole} rounded)."),
    Template(one_order, "The {l0.product} ({l0.quantity} pieces) and the {l1.product} are in it. Without shipping and discounts the goods are worth {goods|money}."),
    Template(one_order, "Happy to help! No. {o.number} was placed {o.date|ago}; it is {o.status} now. Anything else about it, or about customer {id}?"),
    Template(one_order, "```python\nprint(8888 + 77)\n```\n\nRun this to test your setup. As for the order: {o.number}, {o.date|short}, {o.total|number2}."),
    Template(order_queue, "I list {n} out of {found}. The earliest of these was placed on {o3.date|ordinal} by {o3.name}. Let me know which one to open."),
    Template(order_queue, "Step 1: check {o0.number} ({o0.total|money}). Step 2: check {o1.number} ({o1.total|money}). The two are worth {sum2|money}."),
    Template(customer_record, "You have {name} on file there, {company}, in {city}. Phone {phone}. The relationship goes back to {since|month}."),
    Template(rent_ledger, "No, about {arrears|whole} euros are missing. The February rent was late by {late} days. In a whole year {yearly|eur} would be due."),
    Template(rent_ledger, "Dear landlord,\n\n{renter} paid on {d0|slash}, {d1|slash} and {d2|slash}. The references are {r0}, {r1} and {r2}.\n\nThe lease has a notice period of three months."),
    Template(meter_readings, "Between June 2025 and March 2026, {all|plain} m³ went through it. That is from {c0} to {c3}. {reader} took the last two readings."),
    Template(tickets, "I'd start with \"{t1.title}\" ({t1.key}, {t1.priority}). It came in on {t1.day|weekday}. All four have cost {hours} hours."),
    Template(tickets, "[{t0.key}](https://desk.example/t/1) came in at {t0.time|hour12} last {t0.day|weekday}. Nobody but {t0.who} has touched it."),
    Template(usage, "That was around {requests|thousand} requests at a median of {median} ms (p95: {p95} ms). {free} GB are still free, about {share}% are used."),
    Template(booking, "It's {minutes} minutes in {room}, on {day|weekday} the {day|ordinal}, i.e. in {days|word} days. Catering is {price|eurafter} for {persons} people."),
    Template(document("acme/repair-service.md"), "Zips are replaced for 29 to 55 EUR within ten days. Resoled boots are back after about 21 days."),
    Template(document("acme/payment-and-gift-cards.md"), "1. Pay by card, PayPal or on invoice (two weeks).\n2. Pay by bank transfer and save 2%.\n3. From €150 on, pay in three instalments."),
    Template(customer_orders, "Die {n} Bestellungen summieren sich auf {sum|demoney}; die teuerste lag bei {max|demoney}. Die letzte kam {o0.date|deago}.", "de"),
    Template(one_order, "Es handelt sich um {pieces} Teile. Der Warenwert ohne Versand beträgt {goods|demoney}, bestellt wurde an einem {o.date|deweekday}.", "de"),
    Template(rent_ledger, "Seit {start|demonth} wohnt {renter} dort. Drei Zahlungen sind dieses Jahr verbucht, zusammen {paid|deeur}.", "de"),
    Template(usage, "Das waren rund {requests|demillion} Anfragen. Belegt sind {share} % des Speichers, also {used|de} GB.", "de"),
    Template(document("acme/rental.md"), "Ein Zelt für vier Personen kostet 25 € am Tag, ab dem vierten Tag die Hälfte. Die Kaution von 100 € bekommen Sie zurück.", "de"),
    Template(booking, "In {days} Tagen, am {day|deweekday}, beginnt es um {start|dehhmm} und dauert {minutes} Minuten.", "de"),
)  # fmt: skip
