# ruff: noqa: E501 - sentences
"""Answers over the runs of other hosts: a hotel, a workshop, a school, a library, and others; a quarter is German.

Each was counted before the matching was widened by it; docs/receipts.md has both figures. `[[a||b]]` says a; b is one
change that may be planted there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# By name a question, and the calls of its run: the tool, its arguments and its result.
RUNS: dict[str, tuple[str, list[tuple[str, dict[str, Any], dict[str, Any]]]]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)

# The name of a run, and what was answered.
ANSWERS: list[tuple[str, str]] = [
    (
        "stays",
        "Chidi Okafor has **[[three||four]] stays** booked, [[9||10]] nights in all:\n\n1. **HT-90817**: Garden Suite 14, [[20–24 March 2026||20–25 March 2026]], [[€570.00||€590.00]]\n2. **HT-91244**: Double 203, 17–19 April 2026, €236.00\n3. **[[HT-91690||HT-91960]]**: Double 207, 29 May – 1 June 2026, €378.00\n\nThat makes [[€1,184.00||€1,148.00]] altogether. The last one is only an option so far.",
    ),
    (
        "stays",
        "He arrives [[this Friday||this Thursday]], 20 March, and stays 4 nights at [[€142.50||€152.50]] a night. Breakfast is included in two of the three bookings.",
    ),
    (
        "stays",
        "The guest has collected [[12,480||12,840]] loyalty points and has been with us for [[almost five years||almost seven years]] (since [[May 2021||March 2021]]). His e-mail is [[chidi.okafor@posteo.example||chidi.okafer@posteo.example]].",
    ),
    (
        "stays",
        "Two of his three stays (67%) include breakfast. The average rate is about [[€129||€119]] per night, and the most expensive room is the [[Garden Suite 14||Garden Suite 41]].",
    ),
    (
        "stock",
        "Three articles are below their minimum in Linz as of [[7:30||8:30]] this morning:\n\n| SKU | Article | On hand | Minimum | Missing |\n|---|---|---|---|---|\n| FRN-0417 | Oak shelf board 80 cm | [[7||9]] | 20 | 13 |\n| FRN-0522 | Wall bracket, black | 31 | 60 | [[29||39]] |\n| LMP-1103 | Pendant lamp Tora | 2 | [[8||18]] | 6 |\n\nLux & Söhne needs the longest: [[three weeks||two weeks]].",
    ),
    (
        "stock",
        "If you order the lamps from [[Lux & Söhne||Holzmann KG]] today, they should arrive around [[6 April||16 April]]. Filling up to the minimum costs 6 × €48.90 = [[€293.40||€298.40]].",
    ),
    (
        "stock",
        "Only 3 of 412 articles (0.7%) are low. The brackets from Ferrum Nord come in [[5||7]] days and cost just €2.20 each.",
    ),
    (
        "course",
        "The course *Pottery for beginners* is [[75%||85%]] full: [[12||14]] of 16 seats are taken, so [[four||six]] are left and nobody is waiting.",
    ),
    (
        "course",
        "It runs on four Tuesdays from [[April 7||April 9]] to April 28, 6 pm to [[8:30 pm||9:30 pm]], that is [[10 hours||12 hours]] in total. The fee is €184, or [[€46||€64]] per evening. Participants must be at least [[15||18]].",
    ),
    (
        "course",
        "Your teacher is [[Ilse Brandauer||Else Brandauer]], and you will meet in Studio B. For example, if two friends join you, you would pay 3 × €184 = €552 together.",
    ),
    (
        "sensors",
        "It peaked at [[6.2 °C||6.8 °C]] at [[2 am||3 am]], which is [[1.2||2.1]] degrees above the alarm threshold of 5 °C. By 4 am it was back to 4.1 °C. The door was opened [[three||five]] times.",
    ),
    (
        "sensors",
        "On average the sensor CS-2 showed [[4.4 °C||4.9 °C]] overnight. A value below 0 °C would mean the goods freeze; that did not happen.",
    ),
    (
        "car",
        "Your Skoda Octavia (plate [[W-51823K||W-51832K]]) came in last Thursday with [[87,412||87,142]] km and will be ready on [[Wednesday||Tuesday]], March 18. Zoltan Kiss is working on it.",
    ),
    (
        "car",
        "Labour is [[1.8||2.8]] hours at €98, i.e. [[€176.40||€167.40]]; the parts come to [[€171.10||€177.10]]. That is €347.50 before tax and [[€417.00||€471.00]] including 20% VAT.",
    ),
    (
        "votes",
        "[[168||186]] of 240 people answered, a turnout of [[70 %||60 %]]. The *Four-day week* won with [[91||97]] votes (54 %), ahead of *Keep 9 to 5* with 42 ([[25 %||35 %]]) and *Flexible* with 35 (21 %).",
    ),
    (
        "votes",
        "The survey closed [[last Tuesday||last Thursday]], six days ago. [[72||78]] people did not take part. A two-thirds majority would have needed 112 votes, so none of the options got that far.",
    ),
    (
        "policy",
        "Yes. Broken windows are covered up to [[€2,500||€3,500]] per claim [3.1], and you pay an excess of [[€150||€250]] yourself. So if the new pane costs, say, €400, you would get €250 back. Report it within [[14 days||4 days]].",
    ),
    (
        "policy",
        "Please send the photos and the bill to [[claims@heimgut.example||claim@heimgut.example]] [3.2]. You will hear from them within [[five||six]] working days and get the money at most [[two weeks||three weeks]] later. Note that more than 3 claims in [[two years||three years]] raise your premium by [[10%||15%]].",
    ),
    (
        "payroll",
        "In February, team North worked [[448.5||484.5]] hours, [[24.5||42.5]] of them overtime. [[Li Na Chen||Jonas Wolf]] worked the most (160), and Jonas Wolf was off sick for [[2||4]] days.",
    ),
    (
        "payroll",
        "| Employee | Hours | Overtime |\n|---|---:|---:|\n| Amira Haddad | [[152.5||125.5]] | 8.5 |\n| Jonas Wolf | 136 | 0 |\n| Li Na Chen | 160 | [[16||18]] |\n| **Average** | [[149.5||145.9]] | 8.2 |",
    ),
    (
        "energie",
        "Ihr Verbrauch lag bei [[3.842 kWh||3.482 kWh]], das sind [[285 kWh||258 kWh]] oder rund [[7 %||9 %]] weniger als im Vorjahr.",
    ),
    (
        "energie",
        "Die Rechnung beträgt [[880,99 €||890,99 €]]. Bei zwölf Abschlägen zu je 82 € haben Sie [[984 €||948 €]] bezahlt, daher bleibt ein Guthaben von [[103,01 €||130,01 €]]. Pro Kilowattstunde zahlen Sie [[21,4 Cent||24,1 Cent]].",
    ),
    (
        "energie",
        "Herr [[Mayrhofer||Mayerhofer]], Ihr Zähler AT-00418-22 wurde vom [[1. März 2025||1. Mai 2025]] bis 28. Februar 2026 abgerechnet. Der Grundpreis macht im Jahr [[58,80 €||85,80 €]] aus.",
    ),
    (
        "bib",
        "Sie haben [[drei||vier]] Medien ausgeliehen:\n\n- *Der Zauberberg*, fällig am [[19.03.2026||29.03.2026]] (in 3 Tagen)\n- *Kochen für zwei*, fällig am 31. März\n- *Atlas der Alpen*, seit dem 12. März überfällig, also seit [[vier||sechs]] Tagen",
    ),
    (
        "bib",
        "Bisher sind [[3,60 €||6,30 €]] Gebühren angefallen, bei [[30 Cent||50 Cent]] pro Tag. Der Atlas wurde schon [[zweimal||dreimal]] verlängert.",
    ),
    (
        "bib",
        "Der nächste Termin ist Donnerstag, der [[19. März||18. März]]: Dann ist *Der Zauberberg* zurückzugeben. Die Signatur lautet [[DR MANN 12||DR MANN 21]].",
    ),
    (
        "hausordnung",
        "Restmüll wird [[montags||dienstags]] abgeholt, stellen Sie die Tonne also am Sonntag ab [[19 Uhr||20 Uhr]] hinaus. Sperrmüll bis [[2 Kubikmeter||3 Kubikmeter]] ist einmal pro Jahr gratis; melden Sie ihn unter [[01 546 48||01 564 48]] an.",
    ),
    (
        "hausordnung",
        "Die Nachtruhe dauert von [[22||23]] bis 6 Uhr, also acht Stunden. Wenn Sie zum Beispiel am 28. März feiern, hängen Sie es bis zum 25. März aus, nämlich [[drei||fünf]] Tage vorher.",
    ),
    (
        "invoices",
        "Delmar Yachting Ltd owes [[$6,015.75||$6,051.75]] on two invoices: [[INV-6077||INV-6707]] with $1,375.25, overdue for [[12 days||21 days]], and INV-6138 with $4,640.50, due on [[29 March||19 March]].",
    ),
    (
        "invoices",
        "About [[48%||58%]] of INV-6138 is still open; $5,000 of the $9,640.50 has been paid. With a limit of $15,000 there is still [[$8,984.25||$8,948.25]] of credit left.",
    ),
    (
        "invoices",
        "The three invoices total $15,835.75, of which [[$9,820||$9,280]] (62%) is paid. Payment terms are [[30 days||14 days]].",
    ),
    (
        "empty",
        "Am [[Samstag||Sonntag]], dem [[21. März||22. März]], gibt es keine Buchungen (0 gefunden). Vor 9 Uhr oder nach 18 Uhr müsste ohnehin jemand zustimmen.",
    ),
    (
        "clinic",
        "Sini Aalto's next appointment is on [[Thursday, 26 March||Thursday, 27 March]] at [[8:20||8:50]] with Dr. [[Horák||Simon]] in room 2.14, until about [[9 o'clock||10 o'clock]].",
    ),
    (
        "clinic",
        "She was last here in [[September 2025||November 2025]], roughly [[six months||nine months]] ago. She is [[41||47]] years old and can be reached at [[0660 4417702||0660 4471702]].",
    ),
    (
        "ads",
        "The campaign earned [[€18,232||€18,322]] with [[€3,857.20||€3,587.20]] of spend, a return of about [[4.7×||5.7×]]. The click rate is [[2.0%||3.0%]], and [[2.2%||3.2%]] of the clicks became orders.",
    ),
    (
        "ads",
        "Each order costs about [[€18.19||€19.18]] and brings [[€86||€96]]. Search is the largest channel with [[53%||63%]] of the clicks; social costs [[€0.32||€0.23]] per click.",
    ),
    (
        "ads",
        "Die Kampagne hatte [[482.150||428.150]] Einblendungen und [[9.643||9.463]] Klicks. Auf den Newsletter entfielen [[712||721]] Klicks (rund [[7 %||9 %]]).",
    ),
    (
        "car",
        "Ihr Auto ist in [[zwei||vier]] Tagen fertig, am [[Mittwoch||Montag]], dem 18.3. Die Arbeitszeit beträgt [[1,8||2,8]] Stunden zu je 98 Euro, dazu kommen Teile um [[171,10||117,10]] Euro.",
    ),
    (
        "votes",
        "Von den [[240||420]] Eingeladenen haben [[168||186]] geantwortet, also [[70 Prozent||80 Prozent]]. Gut die Hälfte davon ([[91||19]]) will die Viertagewoche; jeder Vierte möchte bei 9 to 5 bleiben.",
    ),
    (
        "payroll",
        "Amira Haddad kommt im Februar auf [[152,5||125,5]] Stunden, davon [[8,5||5,8]] Überstunden. Li Na Chen hat doppelt so viele Überstunden, nämlich [[16||18]]. Das Team hatte zusammen [[zwei||drei]] Krankheitstage.",
    ),
    (
        "gym",
        "You trained [[four||six]] times in March so far, [[270||290]] minutes in total, or about [[67.5||76.5]] minutes per visit. The longest session was on [[Saturday||Sunday]] the 14th with [[740||470]] kcal.",
    ),
    (
        "gym",
        "Rahel, your Flex plan costs [[€39.90||€36.90]] a month, so each of the four visits cost you roughly [[€9.98||€8.98]]. You've been a member for [[two years||four years]].",
    ),
    (
        "gym",
        "On [[2 March||4 March]] you were here from 17:40 to [[18:45||18:55]]; on the 9th you stayed 10 minutes longer and burned [[90||80]] kcal more.",
    ),
    (
        "ship",
        "Parcel **[[PX44019823||PX44018923]]** (3.85 kg) is out for delivery in [[Graz||Linz]] since [[6:05||6:50]] this morning and should arrive today. It took [[three days||five days]] from Hamburg.",
    ),
    (
        "ship",
        "It was sorted in Leipzig on Saturday at [[10:47 pm||10:17 pm]], about [[38||48]] hours after it was picked up. It is insured for [[€129||€192]].",
    ),
    (
        "budget",
        "ATLAS has spent [[€61,425.50||€64,125.50]] of €84,000, i.e. [[73%||83%]]; [[€22,574.50||€22,754.50]] remain until [[31 August||31 July]].",
    ),
    (
        "budget",
        "Of [[680||860]] planned hours, [[454.5||445.5]] are booked (67%). *Backend* still has [[88||98]] hours left, and *Tests* has used only [[15%||25%]] of its 160.",
    ),
    (
        "budget",
        "The project runs for 12 months and is now halfway: it started [[1 September 2025||1 October 2025]]. At this rate (say, €10,000 a month) it would last 2 more months.",
    ),
    (
        "school",
        "In der 4b sind heute [[21||22]] von 24 Kindern da, [[drei||fünf]] fehlen. Die Mathematik-Schularbeit ist am [[24. März||25. März]], also in [[acht||neun]] Tagen.",
    ),
    (
        "school",
        "Der Schnitt liegt bei [[2,4||2,7]]. Ein Viertel (25 %) hat ein Sehr gut, nämlich [[sechs||sieben]] Kinder; [[14||15]] Kinder haben Sehr gut oder Gut. Nur eines ist negativ.",
    ),
    (
        "warranty",
        "You bought the *Blender VX-200* on [[20 November 2024||20 October 2024]], so the [[24 months||26 months]] run until [[20 November 2026||20 December 2026]]: you're covered for another 8 months [5.1]. The motor is covered for [[five||six]] years.",
    ),
    (
        "warranty",
        "The blades are no longer covered: their [[6 months||9 months]] ended in [[May 2025||June 2025]]. A repair takes at most [[two weeks||three weeks]]; after two failed attempts you can get your [[€149||€194]] back.",
    ),
    (
        "weather",
        "Tomorrow drops to [[-2 °C||-4 °C]] with [[4.5 mm||5.4 mm]] of rain, so better wait until [[Wednesday||Tuesday]]: [[12 °C||14 °C]] and almost dry. Fresh concrete should not go below 5 °C.",
    ),
    (
        "loan",
        "Bei 60 Raten zu je [[338,86 €||383,86 €]] zahlen Sie insgesamt [[20.331,60 €||20.313,60 €]], davon [[2.331,60 €||2.313,60 €]] Zinsen ([[4,9 %||9,4 %]]). Die erste Rate ist am [[1. April||1. Mai]] fällig, die letzte nach [[fünf||sechs]] Jahren.",
    ),
    (
        "rest",
        "Yes, [[two||four]] tables: T4 from [[6:30 pm||6:50 pm]] to 8:30 pm and T9 from [[20:45||20:15]]. You'd have T4 for [[two hours||three hours]]; T9 seats [[six||eight]].",
    ),
]
