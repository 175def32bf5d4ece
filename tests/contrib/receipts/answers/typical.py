# ruff: noqa: E501 - sentences
"""Answers as an assistant writes them after one to three calls: mostly values that were looked up, now and then a sum or a count.

Sets of forty over fresh rows and documents of a shop and of host projects, a quarter German. Each was written and
counted before the matching was changed by it; docs/receipts.md has the figures. `[[a||b]]` says a; b is one change that
may be planted there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# By name a question, and the calls of its run: the tool, its arguments and its result.
RUNS: dict[str, tuple[str, list[tuple[str, dict[str, Any], Any]]]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)

# The name of a run, and what was answered.
# fmt: off
ANSWERS: list[tuple[str, str]] = [
    # Written and counted first.
    ("d-orders", "Helga Brunner has placed **[[four||five]] orders** with us. The newest is [[10482||10428]] from 12 March 2026 (€189.80, open); the largest was [[€412.00||€421.00]] on 5 January."),
    ("d-orders", "| Order | Date | Status | Total |\n|---|---|---|---|\n| 10482 | 12 Mar 2026 | open | €189.80 |\n| 10417 | [[19 Feb 2026||9 Feb 2026]] | shipped | [[€64.50||€65.40]] |\n| 10333 | 5 Jan 2026 | shipped | €412.00 |\n| 10190 | 28 Oct 2025 | refunded | €129.90 |\n\nWithout the refunded order that's [[€666.30||€663.60]]."),
    ("d-orders", "Order 10482 is still open. It was placed last Thursday, [[12 March||13 March]], and comes to [[€189.80||€198.80]]."),
    ("d-order", "Order [[20771||20717]] of Renee Castillo contains three items:\n\n- 2 × Flow meter FM-200 at $689.00\n- [[6||8]] × Hose adapter 3/8 at $24.90\n- 1 × Pressure calibrator PC-10 at [[$791.00||$719.00]]\n\nThe total is $2,318.40 and it has been paid."),
    ("d-order", "Dear Ms [[Castillo||Carrillo]],\n\nthank you for your order 20771 of [[February 25, 2026||February 26, 2026]]. We have received your payment of [[$2,318.40||$2,381.40]].\n\nBest regards,\nGlobex customer service"),
    ("d-order", "The two flow meters alone cost [[$1,378||$1,738]], so more than half of the total of [[$2,318.40||€2,318.40]]."),
    ("d-customer", "Yes: [[Ida Lindqvist||Ida Lindquist]] of Nordkap Touren, [[ida.lindqvist@nordkap-touren.example||ida.lindqvist@nordcap-touren.example]], phone [[+43 512 5550 377||+43 512 5550 737]]. She's been a customer since September 2023 and has seven orders."),
    ("d-customer", "Customer 341 is active, based in Tromsø, and has been with us for [[two and a half years||three and a half years]] (since [[14 September 2023||14 September 2022]]). Note: she wants invoices as PDF and has [[30 days||14 days]] to pay."),
    ("d-customer", "Kundin [[341||314]] ist Ida Lindqvist von Nordkap Touren in Tromsø. Sie ist seit dem [[14.09.2023||14.09.2024]] Kundin und hat bisher [[sieben||neun]] Bestellungen aufgegeben."),
    ("d-queue", "There are [[23||32]] open orders. The five newest:\n\n1. **10511** – Piet van Dam, €58.00 (15 March)\n2. **10509** – Carla Neri, [[€236.40||€263.40]] (15 March)\n3. **10503** – Jürgen Falk, €91.20 (14 March)\n4. **10498** – [[Aoife Byrne||Aoife Burns]], €1,140.00 (13 March)\n5. **10495** – Carla Neri, €44.90 (13 March)\n\nWould you like to see the other 18?"),
    ("d-queue", "The five newest open orders add up to [[€1,570.50||€1,507.50]]. By far the largest is Aoife Byrne's, number [[10498||10489]], at €1,140.00. Carla Neri appears [[twice||three times]]."),
    ("d-queue", "Derzeit sind [[23||25]] Bestellungen offen. Die neuesten kamen gestern von Piet van Dam ([[58,00 €||85,00 €]]) und [[Carla Neri||Carla Nardi]] (236,40 €)."),
    ("d-parts", "We keep buckles, poles and zippers for [[eight years||six years]] after the last sale [5.1]. Parts up to [[€6||€9]] are sent free of charge, otherwise postage is [[€3.50||€5.30]]."),
    ("d-parts", "Write to [[parts@acme-outdoor.example||part@acme-outdoor.example]] with the article number and a photo. You'll get an answer within [[24 hours||48 hours]] on working days, and the part arrives 2 to 4 working days later [5.1, 5.2]."),
    ("d-parts", "The mending workshop takes place on the first Saturday of each month at [[10:00||11:00]] in Graz. It lasts [[an hour and a half||two and a half hours]] and costs [[15 euros||15 dollars]]; up to 8 people can join. The next one is on 4 April."),
    ("d-parts", "Zeltstangen kürzen wir für [[12 €||21 €]] [5.2]. Die Lieferung dauert [[2 bis 4||2 bis 6]] Werktage, Kleinteile bis 6 € sind versandkostenfrei."),
    ("d-leases", "Two of the three tenants are behind: [[Osman Kaya||Osman Kara]] (L-3127) owes [[€688.50||€685.80]], and Beate Thalhammer ([[L-3133||L-3113]]) owes €240.00."),
    ("d-leases", "In total [[€928.50||€982.50]] is outstanding. Nadja Brenner has paid up to [[31 March||30 April]]."),
    ("d-leases", "| Flat | Tenant | m² | Rent |\n|---|---|---|---|\n| Mühlgasse 4/11 | Nadja Brenner | [[74.2||72.4]] | €912.00 |\n| Mühlgasse 4/12 | Osman Kaya | 51 | [[€688.50||€668.50]] |\n| Mühlgasse 4/15 | Beate Thalhammer | 96.7 | €1,180.00 |\n\nTogether the rents come to [[€2,780.50||€2,708.50]] a month."),
    ("d-leases", "Sehr geehrter Herr [[Kaya||Kara]],\n\nfür den Mietvertrag [[L-3127||L-3172]] ist die Märzmiete von [[688,50 €||658,80 €]] noch offen. Bitte überweisen Sie den Betrag in den nächsten Tagen.\n\nMit freundlichen Grüßen"),
    ("d-desk", "[[Eleven||Thirteen]] tickets are open. Most pressing is [[SD-4391||SD-4319]] (Access to payroll folder): urgent, with Joan Pike, and overdue since [[Friday||Wednesday]]."),
    ("d-desk", "- **SD-4410** Scanner in hall B does not pair – high, Ravi Nair, due today at [[16:00||16:30]]\n- **SD-4405** Cannot open shared calendar – normal, Joan Pike, due tomorrow at 13:00\n- **[[SD-4399||SD-4390]]** Monitor arm broken – low, nobody assigned, due on [[20 March||22 March]]\n- **SD-4391** Access to payroll folder – urgent, Joan Pike, was due on 13 March"),
    ("d-desk", "Lotte Visser hat [[zwei||drei]] davon gemeldet: den Scanner (Sonntag um [[8:42||8:24]] Uhr) und den Monitorarm. Für Letzteren ist noch niemand zuständig."),
    ("d-desk", "Ticket [[SD-4391||SD-4931]] ist seit [[drei||fünf]] Tagen überfällig. Zuständig ist Joan Pike, gemeldet hat es [[Gwen Abara||Lotte Visser]] am 11. März."),
    ("d-usage", "Fjord Logistics made [[318,204||381,204]] API calls in February, about [[64 %||46 %]] of the limit of 500,000. 1,273 calls failed."),
    ("d-usage", "Speicher: [[61,4||64,1]] von 80 GB (77 %), frei sind also noch [[18,6||16,8]] GB. Plätze: [[22||24]] von 25."),
    ("d-usage", "Invoice [[INV-20260301-17||INV-20260301-71]] over [[$475.00||$457.00]] is open and due on [[31 March||30 March]], in 15 days."),
    ("d-rooms", "On [[Wednesday, 18 March||Wednesday, 19 March]], Larch is taken twice: from 9:00 to [[10:30||11:30]] by Iris Novotny and from 13:30 to 17:00 by [[Samuel Roth||Samuel Rost]]. In between it's free."),
    ("d-rooms", "Iris has [[two||three]] bookings this week: [[BK-8120||BK-8102]] in Larch (6 people) and BK-8131 in Rowan ([[4||8]] people)."),
    ("d-rooms", "Am Donnerstag, dem [[19. März||20. März]], ist der Raum Rowan von [[11||10]] bis 12 Uhr belegt, gebucht von Iris Novotny für vier Personen."),
    ("d-service", "A technician can be on site within [[three||five]] business days [8.1]. The visit is [[$395||$359]] plus [[$120||$140]] per hour."),
    ("d-service", "| Contract | Price per year | Visits |\n|---|---|---|\n| Silver | [[$1,900||$1,990]] | 2 |\n| Gold | $3,400 | [[4||6]] |\n\nBoth renew automatically unless you cancel [[60 days||30 days]] before the end [8.2]."),
    ("d-service", "For an emergency outside office hours, call [[+1 713 555 0188||+1 713 555 0818]]. Note that visits are then charged at double rate [8.3]. Gold costs [[$1,500||$1,400]] more than Silver."),
    ("d-service", "A three-hour visit would cost [[$755||$765]]: $395 for the visit plus [[$360||$340]] for three hours."),
    ("d-find", "I found [[three||four]] customers:\n\n- Anna Reiter, Linz (no. [[52||25]])\n- Anna-Maria Reithofer, Hotel Alpenhof, Zell am See (no. 167)\n- [[Hannah Reiter||Johanna Reiter]], Wels (no. 260), closed\n\nWhich one do you mean?"),
    ("d-find", "Die Adresse von Hannah Reiter lautet [[hannah.reiter@mail.example||hanna.reiter@mail.example]]; ihr Konto mit der Nummer [[260||206]] ist geschlossen."),
    ("d-return", "Yes. The parcel arrived on [[23 February||25 February]], so the [[30 days||60 days]] run until [[25 March||28 March]] [9.1]. The money is back within five working days after the parcel reaches Linz."),
    ("d-return", "Order 10417 contains 1 × Gaiters Tour (€39.60) and [[2||3]] × Wool socks ([[€12.45||€14.25]] each), together [[€64.50||€65.50]]. You can return it for another nine days."),
    ("d-sales", "February: [[86||68]] orders worth [[€11,352.40||€11,532.40]]. Vienna leads with €5,620.10 (about half), followed by Innsbruck with [[€3,480.30||€3,408.30]] and Graz with €2,252.00. The average order was €132."),
    ("d-sales", "Im Februar gab es [[fünf||sechs]] Erstattungen über zusammen [[618,20 €||681,20 €]]. Abzüglich dieser bleibt ein Umsatz von [[10.734,20 €||10.743,20 €]]."),
]
# fmt: on
