# ruff: noqa: E501 - sentences
"""Answers that compute: shares, rates, running totals, what is left, how long ago; a quarter is German.

Three times about forty, over runs of an office, a clinic, a school, a farm and others. Each was written and counted
before the matching was widened by it; docs/receipts.md has the figures. `[[a||b]]` says a; b is one change that may be
planted there.
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
    # Written and counted first.
    (
        "a-leave",
        "Tomasz has [[12||14]] days left for 2026. He started the year with [[32||33]] (28 plus [[4||5]] carried over), has taken [[9||8]], and another 11 are already planned.",
    ),
    (
        "a-leave",
        "So far there were [[two||three]] vacations this year: a long one in February ([[7||6]] days) and a short one on [[5 and 6 March||5 and 7 March]]. Between them lie a little over three weeks.",
    ),
    (
        "a-leave",
        "He was off sick once, for three days ([[12||13]]–14 January), which is a quarter of the [[12||13]] days he has been away in total. Tomasz has been with the company for [[more than six years||more than eight years]], since [[June 2019||July 2019]].",
    ),
    (
        "a-tour",
        "Emre has delivered [[16||17]] of 22 parcels at [[three||four]] of four stops. Only Hotel Seeblick is missing, with [[6||9]] parcels weighing [[158.3||185.3]] kg, and he should be there at [[10:40||10:50]], in about 20 minutes.",
    ),
    (
        "a-tour",
        "The van was loaded with [[660||680]] kg this morning, [[55 %||65 %]] of its payload. Autohaus Reiter alone accounted for [[62 %||72 %]] of that (412 kg), and unloading there took [[45||35]] minutes, three times as long as at Bäckerei Hold ([[15||25]] minutes).",
    ),
    (
        "a-tour",
        "Bei [[138||183]] km und 17,9 Litern liegt der Verbrauch bei rund [[13||15]] Litern auf 100 km. Vom Autohaus Reiter bis zum Hotel sind es [[85||95]] Minuten (Abfahrt [[9:15||9:25]] Uhr, geplante Ankunft 10:40 Uhr).",
    ),
    (
        "a-ward",
        "Last week [[159||169]] of the 184 booked appointments took place, that's [[86.4 %||84.6 %]]. [[17||19]] were cancelled and 8 patients simply did not turn up (4.3 %), a third fewer than the week before ([[12||15]]).",
    ),
    (
        "a-ward",
        "- Bookings: 184, up [[13||15]] from 171 (+[[7.6||6.7]] %)\n- Kept: 159, up [[5||7]]\n- No-shows: 8, down 4\n\nEven so, the share of kept appointments fell from [[90.1 %||91.0 %]] to 86.4 %, i.e. by [[3.7||2.7]] percentage points.",
    ),
    (
        "a-ward",
        "Karin Olsen handled the most sessions, [[61||67]], which is 17 more than [[Paula Reis||Pauline Reis]]. Together the three worked [[97||99]] hours, or roughly [[37||47]] minutes per session. Mehdi's average was a bit shorter at about 34 minutes.",
    ),
    (
        "a-schularbeit",
        "Im Schnitt erreichte die 7b [[33,8||35,8]] von 48 Punkten, der Notenschnitt liegt bei [[2,6||2,9]]. Vier der [[fünf||sechs]] Arbeiten sind positiv, nur [[Felix Moser||Felix Maier]] muss mit 21 Punkten nachlernen: Zur Hälfte der Punkte fehlten ihm [[drei||fünf]].",
    ),
    (
        "a-schularbeit",
        "Am besten war Lina Egger mit [[44||46]] Punkten, also rund [[92 %||95 %]]. Das sind [[fünf||sieben]] mehr als Mia Sommer und mehr als doppelt so viele wie Felix Moser.",
    ),
    (
        "a-schularbeit",
        "Die Arbeit wurde am [[4. März||5. März]] geschrieben und eine Woche später, am [[11. März||12. März]], zurückgegeben, also vor [[fünf||sieben]] Tagen.",
    ),
    (
        "a-solar",
        "This winter the roof on Mill Lane produced [[935||953]] kWh. You used [[636||663]] kWh of that yourself ([[68 %||78 %]]) and fed [[299||289]] kWh into the grid.",
    ),
    (
        "a-solar",
        "At 7.1 cents per kWh the feed-in earned about [[€21.23||€23.21]], and not buying 636 kWh at 28.5 cents saved another [[€181.26||€186.21]], so [[€202.49||€220.49]] in total.",
    ),
    (
        "a-solar",
        "February was the best of the three months: [[455||545]] kWh, [[70 %||60 %]] more than in January and over twice as much as in December ([[212||221]]). Per installed kilowatt that is [[46||64]] kWh. The system has been running for [[almost five years||almost seven years]] (since 20 April [[2021||2022]]).",
    ),
    (
        "a-hotel",
        "Haus Birke sold [[215||225]] room nights last week out of a possible [[294||249]], an occupancy of [[73.1 %||71.3 %]]. Revenue came to [[€27,460||€27,640]], which works out at [[€127.72||€122.77]] per room sold and [[€93.40||€94.30]] per available room.",
    ),
    (
        "a-hotel",
        "| Day | Sold | Free | Revenue |\n|---|---|---|---|\n| Fri 13 Mar | [[38||36]] | [[4||6]] | €5,206 |\n| Sat 14 Mar | 42 | 0 | [[€6,048||€6,084]] |\n| Sun 15 Mar | 22 | [[20||21]] | €2,552 |\n\nThe weekend (Friday to Sunday) brought [[€13,806||€13,086]], i.e. half of the week's revenue.",
    ),
    (
        "a-hotel",
        "Saturday, [[14 March||15 March]], was the only day on which you were fully booked. The weakest was Sunday with [[22||24]] rooms, barely more than half ([[52 %||62 %]]).",
    ),
    (
        "a-greta",
        "Greta Lindholm has [[six||seven]] orders on record: three shipped, [[two||three]] open and one cancelled. The open ones ([[2057||2075]] and 2063) amount to [[€291.50||€219.50]]; leaving out the cancelled order she has spent [[€600.00||€660.00]] with us, an average of [[€120||€125]] per order.",
    ),
    (
        "a-greta",
        "Hi Greta,\n\nthank you for your patience. Your order 2063 over [[€212.00||€221.00]] was placed last Friday ([[13 March||12 March]]) and has not left the warehouse yet. The other open one, 2057, is now a week old; it was [[€79.50||€97.50]].\n\nBest regards",
    ),
    (
        "a-greta",
        "Her biggest order was [[1950||1905]] ([[€310||€301]]), but it was cancelled, so the largest that actually stands is 2063, which makes up a bit more than a third of the [[€600||€650]]. She ordered three times this month, for [[€440.40||€404.40]] together.",
    ),
    (
        "a-returns",
        "You can still return both: the 30 days run until [[30 March||31 March]], so you have exactly [[two||three]] weeks left. Because the goods were opened, [[12 %||15 %]] is withheld: [[€10.20||€12.10]] for the lamp and [[€28.80||€26.80]] for the chair. You would get back [[€286||€268]] of the €325 you paid.",
    ),
    (
        "a-returns",
        "Your order of [[€325||€352]] was above [[€150||€250]], so delivery was free. Had it been a single small parcel, it would have cost [[€6.90||€9.60]]; two parcels would have been [[€11.40||€14.10]].",
    ),
    (
        "a-returns",
        "The refund arrives at most [[10||14]] days after the goods reach us. If they got here on 20 March, say, the money would be with you by [[30 March||31 March]].",
    ),
    (
        "a-desk",
        "There are [[37||47]] open tickets, [[nine||seven]] of which (about a quarter) are overdue. [[15||17]] are urgent or high, so roughly [[40 %||50 %]].",
    ),
    (
        "a-desk",
        "Wanda solved [[28||26]] tickets in the last seven days, a third more than Luis ([[21||24]]) and almost twice as many as Ayşe. Of the team's [[64||46]] solved tickets that is [[44 %||54 %]].",
    ),
    (
        "a-desk",
        "The oldest one, [[SUP-8812||SUP-8821]], has been waiting since [[19 February||18 February]], i.e. for [[25||28]] days or about three and a half weeks. Ayşe takes [[53||43]] minutes longer than Wanda for a first reply, that is more than twice as long.",
    ),
    (
        "a-lager",
        "Zwei der drei Artikel liegen unter dem Mindestbestand: Bei der Kabeltrommel fehlen [[7||9]] Stück, beim Verteiler [[13||15]]. Das Auffüllen kostet [[279,30 €||297,30 €]] und [[1.462,50 €||1.426,50 €]], zusammen also [[1.741,80 €||1.714,80 €]].",
    ),
    (
        "a-lager",
        "Der Lagerwert beträgt [[4.961,70 €||4.691,70 €]]. Rund 70 % davon stecken in den Baustrahlern ([[3.456 €||3.546 €]]), von denen mehr als doppelt so viele da sind wie nötig.",
    ),
    (
        "a-lager",
        "Wenn Sie heute bestellen, ist die Ware bei [[12||14]] Tagen Lieferzeit am [[28. März||30. März]] da, das ist in knapp zwei Wochen.",
    ),
    (
        "a-mrr",
        "MRR grew from $46,100 to [[$48,280||$48,820]] in February, up [[$2,180||$2,810]] or [[4.7%||5.7%]]. Annualised that is about [[$579k||$597k]].",
    ),
    (
        "a-mrr",
        "We won [[31||13]] customers and lost 18, a net gain of [[13||15]], which brings us to [[425||452]]. Churn was [[4.4%||5.4%]] of the 412 we started with.",
    ),
    (
        "a-mrr",
        "Business is only [[35||53]] customers (8% of the base) but a third of revenue: 35 × $462 = [[$16,170||$16,710]]. Starter brings in [[$12,740||$12,470]] although it has more than 60% of customers. Average revenue per customer is [[$113.60||$131.60]].",
    ),
    (
        "a-running",
        "You've run [[41.5||45.1]] km in three outings, a bit over a third of your monthly goal, so [[78.5||87.5]] km are left for the remaining [[15||12]] days.",
    ),
    (
        "a-running",
        "Your fastest was Wednesday's: [[8||9]] km in [[42||48]] minutes, i.e. [[5:15||5:25]] per km. On Saturday you needed [[5:40||5:50]] per km, 25 seconds more, but with [[310||301]] m of climbing.",
    ),
    ("a-running", "Altogether that was 3 h [[49||59]] min of running and [[495||459]] m uphill."),
    (
        "a-grant",
        "Of the €180,000 you have used [[€68,750||€67,850]] so far ([[38 %||48 %]]): [[€60,030||€63,030]] in 2025 and [[€8,720||€8,270]] this year. That leaves [[€111,250||€112,150]] until the end of 2027.",
    ),
    (
        "a-grant",
        "Staff is the largest item at [[€49,100||€41,900]], more than 70 % of all spending; travel has cost [[€7,170||€7,710]] and equipment €12,480.",
    ),
    (
        "a-grant",
        "The first report was [[four||six]] days late (due [[31 January||30 January]], submitted 4 February). The next is due in about ten and a half months.",
    ),
    (
        "a-verein",
        "Der Verein hat [[348||384]] Mitglieder, davon gut ein Drittel Jugendliche ([[121||112]]). Die Jahresbeiträge ergeben [[25.554 €||25.545 €]]: [[18.816 €||18.618 €]] von den Erwachsenen, [[5.808 €||5.880 €]] von der Jugend und 930 € von den Passiven.",
    ),
    (
        "a-verein",
        "Drei Beiträge sind offen, insgesamt [[240 €||204 €]]. Zwei davon – Heike Brandt und [[Ole Jansen||Ole Hansen]] – sind seit dem [[15. Februar||14. Februar]] fällig, also seit gut vier Wochen; das macht [[144 €||114 €]]. Rita Kern hat noch [[15||18]] Tage Zeit.",
    ),
    (
        "a-verein",
        "Ein Erwachsener zahlt doppelt so viel wie ein Jugendlicher, pro Monat sind das [[8 €||9 €]] gegenüber [[4 €||5 €]].",
    ),
    # Counted when kinds of what was wrong in the first were mended.
    (
        "b-carshare",
        "Car 14 made [[€130.53||€103.53]] on [[three||four]] trips between Friday and Sunday. It was out for [[12.5||13.5]] hours and [[176||167]] km altogether, so every kilometre brought in about [[74||84]] cents.",
    ),
    (
        "b-carshare",
        "Quick check of T-901: [[3||4]] h × €6.50 = [[€19.50||€18.50]], plus 46 km × €0.28 = [[€12.88||€12.98]], which gives exactly the [[€32.38||€32.83]] that were charged. Ines Falk accounts for two of the three trips and [[€115.74||€117.54]], the lion's share.",
    ),
    (
        "b-carshare",
        "The longest rental was Sunday's ([[8||9]] hours, from [[9:15||9:45]] to 17:15, 112 km). Bruno Salvi only had the car for an hour and a half. If Ines had driven 20 km less on Sunday, she would have saved [[€5.60||€6.50]].",
    ),
    (
        "b-covers",
        "Sat was the strongest day: [[112||121]] covers and [[€4,480||€4,840]], i.e. [[€40||€45]] a head. On Friday it was [[€37||€39]], on Sunday only €34. Over all three days you served [[262||226]] guests and took [[€9,838||€9,388]].",
    ),
    (
        "b-covers",
        "Twelve tables' worth of guests... sorry, let me rephrase: [[12||14]] people did not show up over the weekend, [[seven||nine]] of them on Saturday. Against the [[262||272]] who came that is 4.6 %.",
    ),
    (
        "b-covers",
        "Tips came to [[€598.80||€589.80]], about two thirds of it by card. Split evenly among the [[12||14]] people on shift, everybody gets [[€49.90||€48.90]]. The 60 seats were used almost twice on Saturday.",
    ),
    (
        "b-rents",
        "Two tenants are behind for March:\n\n- [[Jana Kubik||Jana Kubin]] (Top 2) has paid €300 of [[€610||€601]], so [[€310||€320]] are missing.\n- Kanzlei Stein (Top 3) has not paid anything yet; that's the full [[€1,280||€1,820]].\n\nTogether [[€1,590||€1,950]] are outstanding, roughly half of the month's rent of [[€3,230||€3,320]]. The due date was the 5th, [[11||12]] days ago.",
    ),
    (
        "b-rents",
        "Dear Ms Kubik,\n\nthank you for your payment of [[€300||€330]] on [[5 March||6 March]]. A balance of [[€310||€301]] remains open for March. Please transfer it by the end of the month.\n\nKind regards",
    ),
    (
        "b-rents",
        "Per square metre, Top 4 is [[€12.86||€12.68]] and Top 1 only €11.66, although the flat is nearly twice as large (72.5 vs. [[38.5||35.8]] m²). The building has [[254||245]] m² in total.",
    ),
    (
        "b-lab",
        "Three of the four values are outside the range. Your hemoglobin is [[11.2||11.8]] g/dl, [[0.8||0.6]] below the lower limit of 12.0 and 1.2 lower than in September. Ferritin has dropped to [[9||7]] from [[28||38]], about a third of what it was.",
    ),
    (
        "b-lab",
        "LDL went up by [[17||19]] to 148 mg/dl (+[[13||23]] %), and is now [[32||34]] above the limit of 116. TSH is fine at [[2.1||2.4]]. The last test was about [[six||nine]] months earlier, on [[10 September 2025||10 October 2025]].",
    ),
    (
        "b-lab",
        "I can't tell you what that means medically. What I can say: the sample was taken last [[Wednesday||Thursday]] at [[7:45||8:15]], five days ago, and only TSH is within its range ([[0.4||0.6]] to 4.0).",
    ),
    (
        "b-meter",
        "You used [[10.8||11.8]] m³ in January, [[11.4||12.4]] in February and already [[12.0||13.0]] in the first half of March. That is [[34.2||32.4]] m³ since New Year's Eve, or [[€80.37||€83.07]] at €2.35 per cubic metre.",
    ),
    (
        "b-meter",
        "For the 15 days of March that makes [[800||900]] litres a day, or around [[267||276]] litres per person, twice the average of [[130||150]]. In January it was still about [[116||126]] litres per person and day, so something has changed; a leaking toilet would be a typical cause.",
    ),
    (
        "b-freight",
        "Three of the [[five||six]] shipments are late:\n\n| Ref | Route | Planned | ETA | Delay |\n|---|---|---|---|---|\n| SH-3301 | Rotterdam–Vienna | 12 Mar | [[17 Mar||19 Mar]] | 5 days |\n| SH-3312 | Milan–Munich | 13 Mar | 16 Mar | [[3 days||4 days]] |\n| SH-3320 | Izmir–Graz | [[14 Mar||15 Mar]] | 21 Mar | [[7 days||9 days]] |\n\nThey carry [[30||32]] of the 40 pallets and goods worth [[€109,050||€190,050]], 81 % of the total.",
    ),
    (
        "b-freight",
        "The average delay of those three is [[five||six]] days. The heaviest is [[SH-3301||SH-3310]] with [[6.48||6.84]] t, that's 540 kg per pallet; the lightest, SH-3307, has only [[1,850||1,580]] kg on 4 pallets.",
    ),
    (
        "b-freight",
        "Two arrive today: the one from Gdansk, on time, and the one from [[Milan||Turin]], three days late. Altogether we have [[20.1||21.0]] tonnes on the road, worth [[€134,000||€143,000]].",
    ),
    (
        "b-fehlzeiten",
        "Jakob hat im Sommersemester bisher [[18||16]] von 130 Stunden gefehlt, das sind knapp [[14 %||16 %]]. Davon sind [[14||12]] entschuldigt. Die vier unentschuldigten stammen alle vom [[10. März||11. März]], also vom vergangenen Dienstag.",
    ),
    (
        "b-fehlzeiten",
        "Noch eine unentschuldigte Stunde, und die Grenze von [[fünf||sechs]] ist erreicht. Wegen Krankheit fehlte er an zwei Tagen [[elf||zwölf]] Stunden lang; der Zahnarztbesuch am [[3. März||5. März]] kostete drei Stunden.",
    ),
    (
        "b-payslip",
        "Your gross pay was [[€3,618.80||€3,681.80]]: the base of €3,200, [[€268.80||€286.80]] for overtime and a bonus of €150. From that, [[€1,206.05||€1,260.05]] were deducted, a third of the gross, which leaves [[€2,412.75||€2,421.75]] net.",
    ),
    (
        "b-payslip",
        "The overtime was [[11.2||12.1]] hours at [[€24||€26]] each. Your lunches in the canteen cost [[€61.50||€65.10]]; without them you would have received [[€2,474.25||€2,447.25]]. The money was sent on Friday, [[27 February||26 February]].",
    ),
    (
        "b-newsletter",
        "*Spring preview* beat *Winter sale* on every count. The open rate was [[38 %||48 %]] against [[32 %||42 %]], the click rate 6 % against 5 %, and it brought [[63||36]] orders instead of 40 ([[58 %||48 %]] more).",
    ),
    (
        "b-newsletter",
        "Revenue rose from [[€2,920||€2,290]] to €5,355, i.e. by [[€2,435||€2,345]]. The average order went up as well, from [[€73||€78]] to [[€85||€95]]. Measured per recipient it's 64 cents now and 37 cents before.",
    ),
    (
        "b-newsletter",
        "It was sent last Tuesday, [[10 March||9 March]], five weeks after the previous one. One in eight clicks turned into an order; in February it was one in ten. [[57||75]] people have unsubscribed so far.",
    ),
    (
        "b-site",
        "So far [[€224,800||€228,400]] have been billed, which is [[35 %||45 %]] of the budget of €640,000. The four trades were planned at [[€490,000||€409,000]], so [[€150,000||€105,000]] are still unassigned.",
    ),
    (
        "b-site",
        "Earthworks is finished and ended up [[€3,200||€2,300]] over plan ([[5.5 %||6.5 %]]). Concrete is exactly on track: [[70 %||80 %]] done and [[€149,800||€148,900]] of €214,000 billed. Electrics have barely begun (15 %, [[€13,800||€18,300]]).",
    ),
    (
        "b-site",
        "Construction has been going on for a good five months, since [[6 October||7 October]], and there are a little over six months left until [[25 September||26 September]]. [[Nine||Seven]] days were lost to the weather; that's almost two working weeks.",
    ),
    (
        "b-insurance",
        "Ten percent of your damage would be €185, which is less than [[€200||€250]], so the fixed deductible applies. You would receive [[€1,650||€1,560]]. Please report it by [[23 March||24 March]], that's [[one week||two weeks]] from today.",
    ),
    (
        "b-insurance",
        "Without a claim the premium of [[€186||€168]] falls by [[€9.30||€9.80]] a year. After five years you would reach the maximum of [[25 %||35 %]] and pay [[€139.50||€135.90]]. Paying monthly costs 3 % more, so €191.58 in the first year, or [[€15.97||€15.79]] a month.",
    ),
    (
        "b-backstube",
        "Für morgen brauchen Sie [[240||250]] Semmeln und [[12||14]] Brote, macht [[14,4||14,8]] kg Brotteig. Die erste Abholung ist um [[6:30||6:15]] Uhr (Hotel Post), die letzte um Viertel vor neun.",
    ),
    (
        "b-backstube",
        "Die drei Bestellungen bringen [[163,90 €||169,30 €]]. Fast zwei Drittel davon kommen vom [[Hotel Post||Hotel Krone]]: 150 × 0,45 € = [[67,50 €||65,70 €]] und acht Brote zu je 4,70 €, also [[37,60 €||36,70 €]].",
    ),
    (
        "b-backstube",
        "Nicht 90, sondern [[80||85]] Semmeln gehen an den Kindergarten Sonne, dazu drei Brote. Würden sie noch zwei Brote mehr nehmen, käme die Rechnung auf [[59,50 €||95,50 €]].",
    ),
    (
        "b-stock",
        "Three of 148 products (2 %) are below their reorder level. The Desk Lamp has [[6||8]] left of a minimum of 15, at [[42||24]] sold in 30 days that lasts for about four days. The [[Oak Stool||Oak Stood]] is down to 3.",
    ),
    (
        "b-stock",
        "To get back to the reorder levels you need [[9||7]] lamps, [[5||6]] stools and [[9||11]] throws, [[23||25]] pieces in all. At retail prices that is [[$1,335.10||$1,353.10]]. The Wool Throw sells about [[1.1||1.4]] a day.",
    ),
    (
        "b-stock",
        "- Desk Lamp: 42 sold × $39.90 = [[$1,675.80||$1,657.80]]\n- Wool Throw: 33 × $59 = [[$1,947||$1,974]]\n- Oak Stool: 12 × $89 = [[$1,068||$1,086]]\n\nThe three made [[$4,690.80||$4,960.80]] in the last 30 days, and the throws were ahead with 42 %.",
    ),
    (
        "b-group",
        "The group of [[Margit Weiss||Margot Weiss]] stays [[three||four]] nights, 14 to 17 May. Rooms cost [[€1,398||€1,389]] per night (9 × €118 plus 4 × €84), hence [[€4,194||€4,149]] for the whole stay.",
    ),
    (
        "b-group",
        "If all 22 guests have dinner on each evening, that adds [[€1,617||€1,671]] (22 × 3 × €24.50). The total would then be [[€5,811||€5,118]], or around [[€264||€246]] per person. With one place free, 21 pay.",
    ),
    (
        "b-group",
        "The deposit of [[30 %||40 %]] on the rooms is [[€1,258.20||€1,285.20]] and must be there by [[2 April||3 April]], in two and a half weeks and six weeks before they arrive. The rest, [[€2,935.80||€2,953.80]], is paid on departure.",
    ),
    (
        "b-group",
        "Sorry, I first said 12 rooms: it is [[13||14]], [[nine||eight]] doubles and four singles. So up to 22 people fit in, and that's precisely the number of guests ([[22||24]]).",
    ),
    # Counted when those of the second were.
    (
        "c-garage",
        "Two of the three jobs are done; only the exhaust clamp is missing ([[30||45]] minutes, [[€12.90||€19.20]] for parts). The finished work took [[3||4]] hours and 15 minutes, which at €96 an hour comes to [[€312||€321]].",
    ),
    (
        "c-garage",
        "Your Caddy has covered [[19,520||19,250]] km since the last service on [[10 April 2025||10 May 2025]], so about eleven months ago. It now shows [[141,870||141,780]] km.",
    ),
    (
        "c-garage",
        "With everything included: [[€360||€380]] labour plus [[€158.90||€185.90]] parts makes [[€518.90||€581.90]] net, or [[€622.68||€626.28]] with 20 % VAT. Should you skip the clamp, it would be [[€60.90||€69.90]] less before tax.",
    ),
    (
        "c-library",
        "[[Ada Brix||Ida Brix]] has the most: two books, both due on [[2 March||3 March]] and now [[14||16]] days late. Milo Kern's *Emma* is the oldest case at [[three weeks||four weeks]].",
    ),
    (
        "c-library",
        "Fees so far: [[€10.40||€14.40]] across four loans, more than half of it ([[€5.60||€6.50]]) on Ada's account. At €0.20 a day another week would add [[€1.40||€1.60]] per book, [[€5.60||€6.50]] for the four of them.",
    ),
    (
        "c-library",
        "Hi Sofia,\n\njust a short reminder: *The Waves* was due last Friday ([[13 March||12 March]]). The fee is only [[€0.60||€0.90]] up to now, that is 20 cents for each of the [[three||four]] days.\n\nYour library",
    ),
    (
        "c-server",
        "There were [[three||four]] incidents, together [[61||71]] minutes of downtime. The longest, INC-71, began at [[2:14||2:41]] on Tuesday and lasted [[38||48]] minutes; the two minor ones took 12 and [[11||13]].",
    ),
    (
        "c-server",
        "A week has 10,080 minutes, so availability was [[99.39 %||99.93 %]]. The error rate is tiny: 3,374 of [[4.82||4.28]] million requests, i.e. [[0.07 %||0.17 %]] or 7 in 10,000.",
    ),
    (
        "c-server",
        "p95 latency rose from [[184||148]] to 212 ms, which is [[28||38]] ms or [[15 %||25 %]] slower. I would not read too much into it, it's just one week.",
    ),
    (
        "c-kita",
        "Ab September sind [[fünf||sieben]] Plätze frei: drei bei den [[Füchsen||Hasen]] und [[zwei||vier]] bei den Eulen. Die Igel sind mit [[15||16]] Kindern voll, dort warten schon sechs Familien.",
    ),
    (
        "c-kita",
        "Insgesamt sind [[54||45]] von 59 Plätzen belegt, das entspricht einer Auslastung von gut [[91 %||97 %]]. Auf den Wartelisten stehen [[acht||neun]] Kinder, drei Viertel davon bei den Igeln.",
    ),
    (
        "c-kita",
        "Ganztags kostet [[214 €||241 €]] im Monat und damit [[86 €||68 €]] mehr als halbtags. Bei 20 Essenstagen kommen [[84 €||48 €]] fürs Essen dazu, zusammen also [[298 €||289 €]]. Die Kita hat neuneinhalb Stunden offen, von 7 bis [[16:30||17:30]] Uhr.",
    ),
    (
        "c-orders",
        "Five orders came in today, worth [[$851.50||$815.50]] in total. [[Three||Four]] are paid ([[$720.75||$702.75]]), one is open and one, 7004 of Chloe Martin, has been refunded. Without the refund we are at [[$779.25||$797.25]].",
    ),
    (
        "c-orders",
        "Nadia Farouk ordered twice: 7001 with three items and [[7003||7030]] with [[six||five]]. Together that's [[$369||$396]], 43 % of the day. Yuki Mori's single order is almost as large ([[$351.75||$315.75]]).",
    ),
    (
        "c-orders",
        "On average a customer order is [[$170.30||$173.30]] today and has [[3.4||4.3]] items. The smallest is Peter Lund's with $58.50, about a sixth of the largest.",
    ),
    (
        "c-farm",
        "You brought in [[64.2||62.4]] t in 2025, 4 t more than the year before. Wheat grew by [[5.2||2.5]] t to [[51.2||52.1]] t (+[[11 %||17 %]]), while rye fell by 1.2 t to 13 t.",
    ),
    (
        "c-farm",
        "Yields per hectare: Oberacker [[7.0||7.6]] t, Steinriegel [[6.6||6.0]] t and Am Bach [[5.2||5.8]] t. The whole farm has exactly [[10||12]] hectares, three quarters of it under wheat.",
    ),
    (
        "c-farm",
        "At €218 a tonne the wheat is worth [[€11,161.60||€11,611.60]] and the rye, at €187, [[€2,431||€2,341]]. Altogether that's about [[€13.6k||€16.3k]].",
    ),
    (
        "c-clinicday",
        "Dr. Arslan has [[four||five]] patients tomorrow, the first at [[8:00||8:30]]. They take up [[two||three]] hours, i.e. a third of her six-hour list; [[16||18]] of the 24 slots are still free.",
    ),
    (
        "c-clinicday",
        "Between Alma Sobek (until 8:45) and [[Tariq Nasser||Tarek Nasser]] (from [[9:15||9:30]]) there is a gap of half an hour, enough for [[two||four]] more short appointments. Three people are on the waiting list.",
    ),
    (
        "c-loan",
        "You have paid back [[40 %||45 %]] of your loan: [[€9,600||€6,900]] of €24,000. [[€14,400||€14,000]] are still open, and the contract runs for nearly [[three||five]] more years, until 28 February [[2029||2028]].",
    ),
    (
        "c-loan",
        "It has been two years since it began ([[1 March 2024||1 May 2024]]). At €460 a month you pay [[€5,520||€5,250]] per year, and the next rate is due in [[16||18]] days, on 1 April.",
    ),
    (
        "c-loan",
        "I cannot tell you the exact interest from these figures. Roughly, 4.5 % on the remaining [[€14,400||€14,800]] would be [[€648||€684]] a year, or [[€54||€45]] a month.",
    ),
    (
        "c-energie2",
        "2025 hat das Büro in Graz [[43.200||42.300]] kWh Strom verbraucht und [[88.000||80.800]] kWh fürs Heizen. Das sind [[67,5||65,7]] kWh Strom pro Quadratmeter und [[1.350||1.530]] kWh je Mitarbeiter.",
    ),
    (
        "c-energie2",
        "Bei 26,5 Cent pro kWh hat der Strom [[11.448 €||11.484 €]] gekostet, im Monat also [[954 €||945 €]]. Das teuerste Quartal war das vierte mit [[11.900||11.090]] kWh, rund 6 % mehr als im ersten.",
    ),
    (
        "c-energie2",
        "Im Sommer ([[Q3||Q2]]) wurde mit 3.500 kWh kaum geheizt, im ersten Quartal dagegen elfmal so viel: [[38.400||34.800]] kWh. Das erste und das vierte Quartal machen zusammen [[72.400||74.200]] kWh aus, gut vier Fünftel des Jahres.",
    ),
    (
        "c-course",
        "So far [[six||seven]] people have registered, two short of the minimum of [[eight||nine]]. If two more sign up by then, it can go ahead; there would be room for [[ten||twelve]] more in total.",
    ),
    (
        "c-course",
        "Four of the six have paid, which makes [[€260||€206]]; [[Dmitri Orlov||Dmitri Orloff]] and Finn Moll still owe [[€130||€103]]. Costs are [[€420||€402]] (room €180, trainer €240), so with eight participants ([[€520||€502]]) there would be [[€100||€120]] left over.",
    ),
    (
        "c-course",
        "It takes place on Saturday, [[28 March||29 March]], from 9 to [[5 pm||6 pm]], so [[eight||nine]] hours in one go, in twelve days from now.",
    ),
    (
        "c-policyhr",
        "You joined on 1 February, so you get [[eleven||ten]] twelfths of 30 days, that is [[27.5||28.5]] days in 2026. At most [[5||6]] of them can be carried into 2027, until [[31 March||30 April]].",
    ),
    (
        "c-policyhr",
        "If you fall ill you'll have your full pay for [[6||8]] weeks and half of it for [[four||five]] more, so [[ten||twelve]] weeks altogether. You need a doctor's note from the [[third||fourth]] day on. Your probation ends after three months, on [[30 April||31 May]].",
    ),
    (
        "c-parking",
        "The garage was fullest at 4 pm: [[378||387]] of 420 spaces, [[90 %||80 %]]. At noon it was at [[80 %||70 %]] and in the evening at 60 %. At 8 in the morning three quarters of the spaces were still empty ([[315||351]]).",
    ),
    (
        "c-parking",
        "Sunday brought in [[€5,166||€5,616]], of which [[63 %||73 %]] from short-term parking. That's [[€4.50||€5.40]] per entry for the 728 entries, or [[€12.30||€13.20]] per space.",
    ),
    (
        "c-parking",
        "A season ticket works out at [[€15||€18]] per holder (126 people), and they fill up to [[30 %||40 %]] of the garage if they all come at once. Short-term parkers left [[€1,386||€1,368]] more than they did.",
    ),
    (
        "c-umzug",
        "Die drei Helfer kosten für 7,5 Stunden [[945 €||954 €]]. Dazu kommen der Lkw mit [[190 €||109 €]], [[147,40 €||174,40 €]] für 134 km und 45 Kartons um [[117 €||171 €]].",
    ),
    (
        "c-umzug",
        "Zusammen macht das [[1.399,40 €||1.939,40 €]], abzüglich 5 % Rabatt ([[69,97 €||96,97 €]]) also [[1.329,43 €||1.392,43 €]]. Pro Kubikmeter sind das knapp [[35 €||45 €]].",
    ),
    (
        "c-umzug",
        "Der Termin ist der [[11. April||12. April]], ein Samstag, in knapp vier Wochen. Frau [[Renz||Lenz]] zieht von Linz nach Salzburg, rund [[134||143]] km.",
    ),
    (
        "c-survey",
        "[[160||610]] of 500 guests replied (32 %), a quarter more than in January, when it was [[128||182]]. The average rating is [[4.1||4.6]], up from 3.9.",
    ),
    (
        "c-survey",
        "Three out of four guests gave [[four||three]] or five stars ([[120||102]] people). Only 16 were unhappy, that's one in ten: [[10||12]] with two stars and 6 with one.",
    ),
    (
        "c-survey",
        "Breakfast was mentioned most ([[56||65]] times) and nearly always kindly: [[49||47]] positive remarks, [[88 %||78 %]]. For staff it's even [[95 %||85 %]]. Noise is the sore point; 28 of [[32||36]] mentions were negative.",
    ),
]
