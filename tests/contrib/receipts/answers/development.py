# ruff: noqa: E501 - sentences
"""Sentences that were looked at while the matching was written."""

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

# Each is filled with the data of four runs, one change in each.
DATA = (
    Template(
        customer_orders,
        "{name!name} (customer {id!digit}) has placed {n|word} orders so far. The latest is order {o0.number!digit} of {o0.date|long!date} over {o0.total|money!digit}.",
    ),
    Template(
        customer_orders,
        "Here is what I found for {name}:\n\n1. Order {o0.number}: {o0.total|money!digit}, {o0.status}, placed on {o0.date|us!date}\n2. Order {o1.number!digit}: {o1.total|money}, {o1.status}, placed on {o1.date|us!date}\n\nTogether these two come to {sum2|money!sum}.",
    ),
    Template(
        customer_orders,
        "| Order | Date | Amount |\n|---|---|---|\n| {o0.number} | {o0.date|iso!date} | {o0.total|number2!digit} |\n| {o1.number!digit} | {o1.date|iso} | {o1.total|number2!digit} |\n\nAll {n} orders of {first} add up to {sum|number2!sum}.",
    ),
    Template(
        customer_orders,
        "{first} lives in {city}. The most expensive order cost {max|money!digit}; the cheapest was {min|money!digit}. In total, {n|word!sum} orders are on file.",
    ),
    Template(
        customer_orders,
        "The oldest order of {name!name} is number {old.number!digit}, placed in {old.date|month} for {old.total|money!digit}. It is {old.status}.",
    ),
    Template(
        customer_orders,
        "Sure. {name} ordered last {o0.date|ago!date} (order **{o0.number!digit}**, {o0.total|number2}), and before that on {o1.date|noyear!date}.",
    ),
    Template(
        customer_orders,
        "I see order #{o0.number!digit} worth {o0.total|moneyafter!digit} and order #{o1.number} worth {o1.total|money}. The difference between the two is {diff|money!sum}.",
    ),
    Template(
        one_order,
        "Order {o.number!digit} belongs to {o.name!name}. It holds {l0.quantity} × {l0.product} at {l0.price|money!digit} each, and the bill came to {o.total|money}.",
    ),
    Template(
        one_order,
        "That order was placed on {o.date|long!date} by customer {id!digit}, {o.name!name}, and its status is *{o.status}*.",
    ),
    Template(
        one_order,
        "It has {lines|word} lines:\n\n- {l0.quantity!digit} {l0.product} for {l0.cost|number2!sum}\n- {l1.quantity} {l1.product} for {l1.cost|number2!sum}\n\nBilled amount: {o.total|number2!digit}.",
    ),
    Template(
        one_order,
        "{o.name} paid {o.total|money!digit} in total. One {l1.product} costs {l1.price|money!digit}; there are {l1.quantity!digit} of them in the parcel.",
    ),
    Template(
        one_order,
        "Yes, I have it here: number {o.number}, from {o.date|us!date}, {o.total|moneyafter!digit}, bought by {o.name|surname!name}.",
    ),
    Template(
        order_queue,
        "We have {found!digit} {status} orders. The newest one is {o0.number!digit} by {o0.name!name}, {o0.total|number2}.",
    ),
    Template(
        order_queue,
        "These are the latest:\n\n* **{o0.number}**: {o0.name!name}, {o0.total|money}\n* **{o1.number}**: {o1.name}, {o1.total|money!digit}\n* **{o2.number!digit}**: {o2.name}, {o2.total|moneyafter}\n\nThe three of them amount to {sum3|money!sum}.",
    ),
    Template(
        order_queue,
        "The biggest of the four latest is worth {max|money!digit}. The two newest were placed on {o0.date|short!date} and {o1.date|short!date}.",
    ),
    Template(
        order_queue,
        "{o0.name!name} ({o0.total|number2!digit}) and {o1.name} ({o1.total|number2}) are on top of the list; combined that is {sum2|number2!sum}.",
    ),
    Template(
        customer_record, "You can reach {name!name} of {company} at {email!digitless} or by phone on {phone!digit}."
    ),
    Template(
        customer_record,
        "Customer {id!digit} has been with us since {since|long!date} and has ordered {orders!digit} times.",
    ),
    Template(
        customer_record,
        "- Name: {name!name}\n- Phone: {phone!digit}\n- City: {city}\n- Customer since: {since|iso!date}",
    ),
    Template(
        rent_ledger,
        "The rent of lease {lease!digit} is {rent|eur!digit} a month. {renter!name} has paid January and February in full, but {arrears|eur!digit} of the March rent is still open.",
    ),
    Template(
        rent_ledger,
        "For {address} the last payment of {last|eurafter!digit} arrived on {d2|long!date} with the reference {r2!digit}.",
    ),
    Template(
        rent_ledger,
        "{renter!name} paid {paid|eur!sum} this year, in three payments: on {d0|noyear!date}, {d1|noyear!date} and {d2|noyear}.",
    ),
    Template(
        rent_ledger,
        "The deposit is {deposit|eur!unit} for {area} m². The lease began on {start|us!date} and the notice period is {=3 months!unit}.",
    ),
    Template(
        meter_readings,
        "Meter {meter!digit} stood at {c3} m³ on {t3|long!date}. Since {t2|long} that is {used|plain!sum} m³.",
    ),
    Template(meter_readings, "{reader!name} read {c2!digit} m³ on {t2|noyear!date} and {c3!digit} m³ on {t3|noyear}."),
    Template(
        tickets,
        "There are {n|word!sum} open tickets. The most recent one is {t0.key!digit} ({t0.title}), which {t0.who!name} opened work on; {t0.hours} hours so far.",
    ),
    Template(
        tickets,
        "**{t1.key!digit}** was opened on {t1.day|weekday}, {t1.day|long!date}, and has taken {t1.hours!digit} hours. Altogether the four tickets took {hours!sum} hours.",
    ),
    Template(
        usage,
        "{name!name} made {requests|int!digit} requests in February, of which {errors|int!digit} failed: an error rate of {rate}%.",
    ),
    Template(
        usage,
        "They use {used!digit} GB of {limit} GB, so {free!sum} GB are left. The plan costs {price|usd!unit} a month for {seats!digit} seats.",
    ),
    Template(
        booking,
        "Booking {code!digit} is for room {room} on {day|weekday}, {day|noyear!date}, from {start|hhmm!digit} to {end|hhmm!digit}. {who!name} made it.",
    ),
    Template(
        booking,
        "The room seats {seats!digit} people and is on floor {floor}. You have it for {minutes!sum} minutes, and catering for {persons!digit} costs {price|eur!unit}.",
    ),
    # German
    Template(
        customer_orders,
        "{name!name} (Kundennummer {id!digit}) hat bisher {n|deword} Bestellungen aufgegeben. Die neueste ist Bestellung {o0.number!digit} vom {o0.date|delong!date}.",
        "de",
    ),
    Template(
        customer_orders,
        "Ich habe zwei Bestellungen gefunden:\n\n1. Nr. {o0.number}: {o0.total|demoney!digit} vom {o0.date|dots!date}\n2. Nr. {o1.number!digit}: {o1.total|demoney} vom {o1.date|dots}\n\nZusammen sind das {sum2|demoney!sum}.",
        "de",
    ),
    Template(
        one_order,
        "Die Bestellung {o.number!digit} gehört {o.name!name} und wurde am {o.date|dedots!date} aufgegeben. Der Rechnungsbetrag ist {o.total|demoney!digit}.",
        "de",
    ),
    Template(
        one_order,
        "Darin sind {l0.quantity!digit} Stück {l0.product} zu je {l0.price|demoney!digit} und {l1.quantity} Stück {l1.product} zu je {l1.price|demoney!digit}.",
        "de",
    ),
    Template(
        order_queue,
        "Insgesamt gibt es {found!digit} solche Bestellungen. Ganz oben steht die {o0.number!digit} von {o0.name!name} über {o0.total|demoney!digit}.",
        "de",
    ),
    Template(
        customer_record,
        "Sie erreichen {name!name} unter {phone!digit} oder per E-Mail an {email!digitless}. Kunde ist die Firma seit dem {since|delong!date}.",
        "de",
    ),
    Template(
        rent_ledger,
        "Die Miete für {address} beträgt {rent|deeur!digit} im Monat. {renter!name} schuldet noch {arrears|deeur!digit} für März.",
        "de",
    ),
    Template(
        rent_ledger,
        "Zuletzt sind am {d2|denoyear!date} {last|deeur!digit} eingegangen (Beleg {r2!digit}). Die Kaution beträgt {deposit|deeur!unit}.",
        "de",
    ),
    Template(
        meter_readings,
        "Der Zähler {meter!digit} stand am {t3|dots!date} bei {c3|de!digit} Kubikmeter, das sind {used|de!sum} Kubikmeter mehr als am {t2|dots}.",
        "de",
    ),
    Template(
        usage,
        "Im Februar waren es {requests|deint!digit} Anfragen und {errors|deint!digit} Fehler. Belegt sind {used|de!digit} GB von {limit} GB.",
        "de",
    ),
    Template(
        booking,
        "Die Buchung {code!digit} gilt am {day|delong!date} von {start|dehhmm!digit} bis {end|dehhmm}. Gebucht hat {who!name}.",
        "de",
    ),
)

# Each is filled twice, with another change.
DOCUMENTS = (
    Template(
        document("acme/refunds-and-returns.md"),
        "You can send anything back within {=30 days!unit} of the day your parcel arrives [7.1]. The money is back within {=5 working days!digit} [7.3].",
    ),
    Template(
        document("acme/refunds-and-returns.md"),
        "If it arrived damaged, write to us within {=60 days!digit} with a photo; anything under {=20 EUR!unit} need not be returned.",
    ),
    Template(
        document("acme/rental.md"),
        "Touring skis with boots cost {=39 EUR!digit} a day. From the fourth day on it is half price, and a deposit of {=100 EUR!unit} is held on your card.",
    ),
    Template(
        document("acme/rental.md"),
        "You may cancel free of charge until {=48 hours!unit} before. A lost transceiver costs {=€220!digit}.",
    ),
    Template(
        document("acme/warranty.md"),
        "Electronics such as headlamps are covered for {=three years!word}; rechargeable batteries only for {=1 year!unit}.",
    ),
    Template(
        document("acme/shipping-and-delivery.md"),
        "Standard delivery to Austria is {=€4.90!digit} and free from {=60 EUR!unit}. Express costs {=12.90 EUR!digit}.",
    ),
    Template(
        document("acme/opening-hours-and-stores.md"),
        "The Vienna store is open on weekdays from {=9:30!digit} until {=19:00!digit}, and on Saturdays until 18:00.",
    ),
    Template(
        document("acme/repair-service.md"),
        "Resoling hiking boots costs {=79 euros!digit} and takes {=3 weeks!unit}; a tent is reproofed for 69 EUR.",
    ),
    Template(
        document("globex/warranty-terms.md"),
        "The warranty runs for {=18 months!unit} from shipment. GlobexCare adds 2 years for {=9 percent!digit} of the list price.",
    ),
    Template(
        document("globex/calibration-service.md"),
        "A pressure calibration is {=310 USD!digit} with a turnaround of {=5 business days!digit}. On site we charge {=$1,450!digit} a day.",
    ),
    Template(
        document("globex/ordering-and-payment-terms.md"),
        "The minimum order is {=150 USD!unit}, and you get {=5 percent!digit} off from 10 instruments of one type.",
    ),
    Template(
        document("globex/freight-and-delivery.md"),
        "Gas analyzers take {=8 to 10 weeks!unit}. Parcels up to {=50 lb!unit} cost 38 USD flat.",
    ),
    Template(
        document("globex/safety-notes.txt"),
        "Purge the cell for {=10 minutes!unit}, and wait {=5 minutes!digit} for the capacitors. The flange takes {=45 foot-pounds!digit}.",
    ),
    Template(
        document("acme/refunds-and-returns.md"),
        "Sie haben {=30 Tage!unit} Zeit für die Rückgabe. Das Geld ist innerhalb von {=fünf Werktagen!deword} wieder da.",
        "de",
    ),
    Template(
        document("acme/payment-and-gift-cards.md"),
        "Gutscheine gibt es von 10 bis {=500 Euro!digit}, und sie gelten {=5 Jahre!unit}. Bei Überweisung gibt es {=2 Prozent!digit} Rabatt.",
        "de",
    ),
    Template(
        document("acme/size-and-care-guide.txt"),
        "Daunen bei {=30 Grad!digit} waschen; Membranen bei 40 Grad und danach {=zwanzig Minuten!unit} in den Trockner.",
        "de",
    ),
)

# True in all, and less plain.
CLEAN = (
    Template(customer_orders, "I've looked this up: {name} has {n} orders with us.\n\n1. {o0.number}\n2. {o1.number}\n3. {o2.number}\n\nDo you want the details of one of them?"),
    Template(customer_orders, "Altogether {first} has spent {sum|money} with us, which is about {average|whole} per order on average."),
    Template(customer_orders, "{name} placed the first order in {old.date|month}. Since then {n} orders have come in; the last was on a {o0.date|weekday}."),
    Template(customer_orders, "Let me know if you need anything else! In short: {n} orders, {sum|money} in sum, most recently #{o0.number} on {o0.date|iso}."),
    Template(one_order, "The goods alone are worth {goods|number2}. The {l0.product} make up {l0.cost|number2} of it, the rest is the {l1.product}."),
    Template(one_order, "```\norder=999999\ntotal=12.34\n```\nThat is only an example of the format; yours is order {o.number} over {o.total|moneyafter}."),
    Template(one_order, "Order {o.number} is {o.status}. It was placed {o.date|ago}, on {o.date|slash}. The parcel has {pieces} pieces in it."),
    Template(order_queue, "Among the four newest {status} orders, {o1.name}'s ({o1.number}) is the second newest: {o1.date|ordinal}, {o1.total|money}."),
    Template(order_queue, "Of {found} orders I show {n}: {o0.number}, {o1.number}, {o2.number} and {o3.number}. Their sum is {sum|number2}."),
    Template(customer_record, "The contact at {company|upper} is {name}. I would write to {email} first. They have been a customer since {year}."),
    Template(rent_ledger, "February came in {late} days late, on {d1|long}. A year of rent is {yearly|eur}. Please send a reminder for the {arrears|euros} that is open."),
    Template(rent_ledger, "Three payments are on file:\n\n| Paid on | Reference |\n|---|---|\n| {d0|slash} | {r0} |\n| {d1|slash} | {r1} |\n| {d2|slash} | {r2} |\n\nShall I write to {renter}?"),
    Template(meter_readings, "From {t0|month} to {t3|month} the household used {all} cubic metres. The meter is calibrated until the end of {until}."),
    Template(tickets, "{t0.who} and {t1.who} are on the two newest tickets, with {hours2} hours between them. The oldest, {t3.key}, has been open for {age} days."),
    Template(tickets, "First, look at {t0.key}: it was opened at {t0.time|hhmm} on {t0.day|short} and is rated {t0.priority}. Secondly, {t1.key}, at {t1.time|hour12}."),
    Template(usage, "February saw about {requests|thousand} requests. Storage is {share}% full ({used|whole} of {limit} GB). A year at this price is {yearly|usd}."),
    Template(booking, "You are in room {room} in {days} days, at {start|hour12}. Please be there 0 minutes late!"),
    Template(document("acme/rental.md"), "Renting a 4-person tent is 25 EUR a day. You can book it half a year ahead, and it is free to cancel up to two days before."),
    Template(document("globex/support-hours-and-contacts.md"), "Technical support answers from 7 am to 7 pm Eastern on weekdays: +1 412 555 0100. With GlobexCare use +1 412 555 0199."),
    Template(customer_orders, "Alle {n} Bestellungen von {name} zusammen ergeben {sum|demoney}. Die älteste ist aus dem {old.date|demonth}.", "de"),
    Template(one_order, "Die Bestellung wurde {o.date|deago} aufgegeben, also am {o.date|denoyear}. Insgesamt sind es {pieces} Stück in {lines|deword} Positionen.", "de"),
    Template(rent_ledger, "Die Februarmiete kam am {d1|dots} und damit {late} Tage zu spät. Offen sind noch {arrears|deeur}; bitte erinnern Sie {renter} daran.", "de"),
    Template(usage, "Der Speicher ist zu {share} Prozent belegt, frei sind noch {free|de} GB. Im Jahr kostet der Tarif das Zwölffache von {price|de} Dollar.", "de"),
    Template(document("acme/warranty.md"), "Die gesetzliche Gewährleistung beträgt zwei Jahre. Abgelaufene Sohlen werden für 79 € neu besohlt.", "de"),
    Template(booking, "Der Raum {room} ist am {day|deweekday} um {start|dedot} für {minutes} Minuten reserviert.", "de"),
)  # fmt: skip
