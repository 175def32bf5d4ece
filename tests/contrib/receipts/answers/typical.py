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
    # Written and counted when those of the first were mended.
    ("e-orders", "Mirela Popescu's most recent order is [[30418||30481]], placed a week ago on [[9 March||8 March]] at 16:20 for [[€249.00||€294.00]]. It's paid but hasn't shipped yet."),
    ("e-orders", "- 30418 · 9 Mar · €249.00 · paid\n- [[30352||30532]] · 27 Feb · €86.70 · shipped\n- 30277 · 30 Jan · [[€133.30||€131.30]] · shipped\n\nAll three add up to [[€469.00||€496.00]]."),
    ("e-orders", "Frau [[Popescu||Popovic]] hat dieses Jahr dreimal bestellt, zusammen für [[469 €||496 €]]. Zwei Bestellungen sind schon verschickt, die vom [[9. März||6. März]] ist bezahlt."),
    ("e-order", "Order 20816 of [[Desmond Achebe||Desmond Archer]] was shipped. It has one Gas analyzer GA-7 for [[$1,240.00||$1,420.00]], four bottles of calibration gas and $48.00 shipping; the total is $1,634.00."),
    ("e-order", "Goods: $1,586.00, shipping: [[$48.00||$84.00]], total: [[$1,634.00||$1,643.00]]. Placed on [[March 4, 2026||March 14, 2026]]."),
    ("e-order", "Hello Mr. Achebe,\n\nyour order [[20816||20861]] is on its way. It contains 1 × Gas analyzer GA-7 and [[4||6]] × Calibration gas 10 l. You were charged $1,634.00 in total.\n\nKind regards"),
    ("e-customer", "Rodrigo Alves ([[Serra Guias Lda||Serra Guides Lda]]) has a credit limit of €2,500.00, of which [[€640.20||€604.20]] is in use; [[€1,859.80||€1,895.80]] is still available."),
    ("e-customer", "His e-mail is [[rodrigo@serraguias.example||rodrigo@serraguia.example]], the phone number [[+351 275 555 014||+351 275 555 041]]. He gets a [[12 %||15 %]] discount."),
    ("e-customer", "Rodrigo Alves ist seit dem [[2. November 2021||2. Oktober 2021]] Kunde, also seit gut vier Jahren. Anschrift: Rua do Sol [[18||81]], 6200-135 Covilhã."),
    ("e-shipping", "Delivery to Norway costs [[€18.50||€15.80]] [12.2]. Skis go in a tube for an extra [[€7.90||€9.70]] [12.1]."),
    ("e-shipping", "| Destination | Shipping |\n|---|---|\n| Germany, Austria | [[€4.50||€5.40]] |\n| Other EU | €9.80 |\n| Switzerland | [[€14.90||€19.40]] |\n| Norway | €18.50 |\n\nOrders of [[€90||€60]] or more ship free within the EU."),
    ("e-shipping", "If nothing has come after [[10 days||14 days]], write to [[lost@acme-outdoor.example||post@acme-outdoor.example]]. The search takes up to [[three weeks||three months]] [12.3]."),
    ("e-shipping", "Pakete bis [[31,5 kg||35,1 kg]] und 120 cm Länge gehen mit der Post. Größeres bringt eine Spedition in [[8 bis 12||8 bis 14]] Werktagen [12.1]."),
    ("e-ledger", "Gerlinde Pfeifer pays [[€946.00||€964.00]] a month: €735.00 rent, [[€148.60||€146.80]] service charges and €62.40 heating."),
    ("e-ledger", "For March [[€300.00||€330.00]] is still open: she transferred €646.00 on [[6 March||16 March]] instead of €946.00."),
    ("e-ledger", "So far this year [[€2,538.00||€2,583.00]] has come in on lease [[MV-0882||MV-0828]], the last payment [[ten days ago||eight days ago]]."),
    ("e-ledger", "Sehr geehrte Frau [[Pfeifer||Pfeiffer]],\n\nvon der Märzmiete über [[946,00 €||964,00 €]] sind bisher nur 646,00 € eingegangen (am 6. März). Bitte überweisen Sie die restlichen [[300,00 €||350,00 €]].\n\nFreundliche Grüße"),
    ("e-meter", "Meter [[EL-55120||EL-51520]] read [[18,681||18,861]] kWh at the end of February. That's [[208||280]] kWh for the month, a bit less than in January (233 kWh)."),
    ("e-meter", "Seit Silvester hat die Wohnung [[441||414]] kWh verbraucht."),
    ("e-tickets", "Three tickets are not closed yet:\n\n- [[HD-2207||HD-2270]] Label printer jams: in progress, [[Maud Lindgren||Maud Lundgren]]\n- HD-2211 No sound in meeting room 3: waiting, Tariq Osman\n- HD-2219 New badge for Ines Roth: new, opened [[today||yesterday]]"),
    ("e-tickets", "The printer ticket has taken [[85 minutes||58 minutes]] so far and has [[five||six]] comments; together with HD-2211 that's [[115||151]] minutes."),
    ("e-tickets", "[[HD-2211||HD-2121]] liegt bei [[Tariq Osman||Maud Lindgren]] und wartet seit [[vier||fünf]] Tagen."),
    ("e-plan", "Blue Harbour is on the Scale plan at [[$189.00||$198.00]] a month. [[33||34]] of 40 seats and [[146.8||148.6]] of 200 GB (73 %) are in use."),
    ("e-plan", "You have [[seven||nine]] seats and [[53.2 GB||52.3 GB]] left. The next invoice comes on [[1 April||1 May]]."),
    ("e-plan", "With your [[10 %||15 %]] discount you'll pay [[$170.10||$171.10]] on 1 April, charged to the card ending in [[4471||4417]]."),
    ("e-room", "On Friday, [[20 March||21 March]], the Atelier is free from 9:30 to 10:00, from 12:00 to [[14:15||14:45]] and after 16:00."),
    ("e-room", "[[Noor Haddad||Noor Haddid]] has it twice that day: 8:00–9:30 and [[14:15||14:50]]–16:00. It seats [[18||16]]."),
    ("e-room", "Pavel Krejčí's two hours cost [[€36.00||€63.00]] (€18.00 an hour)."),
    ("e-latest", "Of the four latest orders two are open: [[20897||20987]] of Ivan Petrov ([[$4,215.75||$4,251.75]]) and 20893 of [[Sandra Okoye||Sandra Oduya]] ($129.90)."),
    ("e-latest", "| No. | Customer | Placed | Total |\n|---|---|---|---:|\n| 20902 | Sandra Okoye | 3/11/2026 | $780.00 |\n| 20897 | Ivan Petrov | [[3/10/2026||3/12/2026]] | $4,215.75 |\n| 20893 | Sandra Okoye | 3/8/2026 | [[$129.90||$192.90]] |\n| 20888 | [[Grace Lindholm||Grace Lindgren]] | 3/5/2026 | $1,999.00 |"),
    ("e-latest", "Die offenen machen zusammen [[4.345,65 $||4.354,65 $]] aus. Insgesamt sind es [[12||14]] Bestellungen, die vier neuesten habe ich angesehen."),
    ("e-repair", "A standard repair takes [[15||12]] business days; rush service cuts that to five but adds [[30 percent||20 percent]], with a minimum of [[$150||$105]] [15.2]."),
    ("e-repair", "Shipping back an instrument that is out of warranty costs [[$45||$54]] in the US and [[$120||$210]] abroad [15.1]."),
    ("e-repair", "A loaner for three weeks would be [[$180||$190]] ($60 a week), plus a deposit of [[$500||$550]] that you get back [15.3]."),
    ("e-repair", "Ein Leihgerät kostet [[60 USD||80 USD]] pro Woche; mit Gold-Vertrag sind die ersten [[vier||sechs]] Wochen gratis [15.3]."),
    ("e-spent", "Beatriz Campos from Porto (customer [[619||691]]) has spent [[€375.40||€357.40]] in two orders, but €57.40 of that was refunded, so [[€318.00||€381.00]] net."),
    ("e-spent", "One order was refunded: [[10688||10668]] of 19 January over [[€57.40||€54.70]]."),
    ("e-spent", "Beatriz Campos hat zuletzt am [[11. Februar||12. Februar]] bestellt (Nr. 10733, [[318,00 €||308,00 €]])."),
    ("e-store", "The Salzburg store is open until [[18:30||19:30]] on weekdays and until [[5 pm||6 pm]] on Saturdays; it's closed on [[Sundays||Mondays]] [17.1]."),
    ("e-store", "Rufen Sie [[+43 662 5550 70||+43 662 5505 70]] an. Parken ist [[90 Minuten||60 Minuten]] lang kostenlos. Am 24. und 31. Dezember schließt das Geschäft um [[13 Uhr||14 Uhr]]."),
]
# fmt: on
