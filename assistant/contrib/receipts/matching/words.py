"""Words of English and German that say what a number, a date or a sum is."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache

from babel import Locale

from assistant.contrib.receipts.matching.units import LOCALES

NUMBERS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "eighteen": 18, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90,
    "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11,
    "zwölf": 12, "dreizehn": 13, "vierzehn": 14, "fünfzehn": 15, "sechzehn": 16, "achtzehn": 18, "zwanzig": 20,
    "twice": 2, "zweimal": 2, "dreimal": 3, "viermal": 4, "fünfmal": 5, "sechsmal": 6, "zehnmal": 10,
    "dreißig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60, "neunzig": 90,
}  # fmt: skip
MAGNITUDES = {
    "k": Decimal(1000), "thousand": Decimal(1000), "tausend": Decimal(1000),
    "million": Decimal(10) ** 6, "millions": Decimal(10) ** 6, "millionen": Decimal(10) ** 6, "mio": Decimal(10) ** 6,
    "mio.": Decimal(10) ** 6, "m": Decimal(10) ** 6, "bn": Decimal(10) ** 9, "billion": Decimal(10) ** 9,
    "milliarde": Decimal(10) ** 9, "milliarden": Decimal(10) ** 9, "mrd": Decimal(10) ** 9, "mrd.": Decimal(10) ** 9,
}  # fmt: skip
_MORE_THAN = (
    r"over|above|more than|(?:a )?(?:bit|little) (?:over|more than)|just over|at least|über|mehr als|gut|mindestens"
)
_LESS_THAN = (
    r"nearly|almost|under|below|less than|just under|up to|fast|knapp|beinahe|unter|weniger als|höchstens|bis zu"
)
_SIGN = r"\s*[€$£]?\s*$"
ABOUT = re.compile(
    rf"(?:\b(?:about|around|roughly|approximately|approx\.?|some|rund|etwa|circa|ca\.|ungefähr|{_MORE_THAN}|{_LESS_THAN})"
    rf"|~|≈|>|<){_SIGN}",
    re.IGNORECASE,
)
# Of those, what says that a number is more, and what says that it is less, than what is shown.
MORE_THAN = re.compile(rf"(?:\b(?:{_MORE_THAN})|>){_SIGN}", re.IGNORECASE)
LESS_THAN = re.compile(rf"(?:\b(?:{_LESS_THAN})|<){_SIGN}", re.IGNORECASE)
# Before a day of the week that is the last or the next one.
LAST = re.compile(r"\b(?:last|past|letzte[nmrs]?|vergangene[nmrs]?|vorige[nmrs]?)[ \u00a0]$", re.IGNORECASE)
NEXT = re.compile(r"\b(?:next|coming|nächste[nmrs]?|kommende[nmrs]?)[ \u00a0]$", re.IGNORECASE)
# Behind and before a percentage by which one number is more or less than another.
MORE = re.compile(
    r"[ \u00a0](?:more|less|higher|lower|above|below|up|down|larger|smaller|cheaper|dearer"
    r"|mehr|weniger|höher|niedriger|über|unter|größer|kleiner|günstiger|teurer)\b",
    re.IGNORECASE,
)
BY = re.compile(
    r"(?:\b(?:by|up|down|grew|grown|rose|risen|fell|fallen|um|plus|minus)|[+−])[ \u00a0]?"
    r"(?:\b(?:about|around|roughly|nearly|rund|etwa|knapp|gut|fast)[ \u00a0])?$",
    re.IGNORECASE,
)
# Before a hundred for which a number is.
FOR_HUNDRED = re.compile(r"(?:\b(?:per|auf|je|pro)[ \u00a0]|/[ \u00a0]?)$", re.IGNORECASE)
# Behind an amount of which so much is for one: "45,900 a day", "€3.86 per kilometre", "181 € am Tag".
FOR_ONE = re.compile(r"[ \u00a0](?:an?|per|each|every|apiece|pro|je|am|im|jede[nrms]?)\b", re.IGNORECASE)
# Behind a number that half of one more belongs to.
AND_A_HALF = re.compile(r"[ \u00a0]and a half\b", re.IGNORECASE)
# What speaks of an average or a year of months.
AVERAGE = re.compile(
    r"\b(?:average|mean|per \w+|on average|pro \w+|durchschnitt\w*|im schnitt|mittel)\b", re.IGNORECASE
)
# By what something is taken or divided that is said of a year, a month and so on.
CONSTANTS = tuple(
    (re.compile(rf"\b(?:{pattern})", re.IGNORECASE), number)
    for pattern, number in (
        (r"years?\b|yearly|annual\w*|months?\b|monthly|jahr\w*|jährlich\w*|monat\w*", 12),
        (r"quarter\w*|quartal\w*|viertel\w*", 4),
        (r"(?:per|a|each) day|daily|weeks?\b|weekly|pro tag|am tag|täglich\w*|woche\w*|wöchentlich\w*", 7),
        (r"weekly|(?:per|a|each) week|wöchentlich\w*|pro woche", 52),
        (r"(?:per|a|an|each) hour|hourly|stündlich|pro stunde|rund um die uhr|around the clock", 24),
        (r"half|halves|double|twice|both|each way|return|hälfte|halb\w*|doppelt\w*|beide\w*|zweimal|hin und zurück", 2),
        (r"thirds?\b|triple|three times|drittel|dreimal|dreifach\w*", 3),
        (r"(?:per|auf|je|pro) (?:100|hundert)|hundred", 100),
    )
)
# What speaks of rows that a condition divides from the others.
CONDITIONS = {
    name: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)
    for name, pattern in {
        "past": r"overdue|late|past|due|expired|lapsed|before|already|behind|over|überfällig\w*|abgelaufen\w*"
        r"|vergangen\w*|bereits|schon|fällig\w*|vorbei",
        "ahead": r"upcoming|ahead|still|next|coming|left|to come|future|planned|scheduled|remain\w*|kommend\w*|noch"
        r"|bevorsteh\w*|ausstehend\w*|geplant\w*",
        "less": r"below|under|less|fewer|short\w*|low|lower|missing|lack\w*|behind|reorder\w*|unter\w*|weniger|fehl\w*"
        r"|knapp\w*|nachbestell\w*|niedriger",
        "more": r"above|over|more|exceed\w*|higher|beyond|enough|mehr|über\w*|höher|genug|ausreichend\w*",
        "missing": r"no|not|none|without|open|missing|pending|yet|still|never|nicht|kein\w*|ohne|offen\w*|fehl\w*"
        r"|noch|nie",
        "late": r"late|delay\w*|overdue|behind|later|verspät\w*|spät\w*|verzöger\w*|überfällig\w*|longer|over",
        "early": r"early|earlier|ahead|before|früh\w*|vorzeitig|vor",
        "given": r"already|done|with|have|has|been|schon|bereits|erledigt|hat|haben|mit",
    }.items()
}
# What is said in another language of rows whose field has such a text, by its beginning.
STATUSES = {
    text: re.compile(rf"\b(?:{pattern})", re.IGNORECASE)
    for text, pattern in {
        "shipped": r"verschickt|versandt|versendet", "open": r"offen", "paid": r"bezahlt",
        "delivered": r"geliefert|zugestellt",
        "refunded": r"erstattet|rückerstattet", "cancelled": r"storniert|abgesagt", "canceled": r"storniert|abgesagt",
        "closed": r"geschlossen|erledigt", "active": r"aktiv", "pending": r"ausstehend|offen",
        "confirmed": r"bestätigt",
        "urgent": r"dringend", "overdue": r"überfällig", "offen": r"open|outstanding", "bezahlt": r"paid",
        "storniert": r"cancel", "versendet": r"shipped|sent", "bestätigt": r"confirmed",
    }.items()
}  # fmt: skip
THIS_MONTH = re.compile(r"\b(?:this|current) month\b|\b(?:diese[mnrs]?|laufende[nm]?) Monats?\b", re.IGNORECASE)
LAST_MONTH = re.compile(r"\b(?:last|previous) month\b|\b(?:letzte[nm]|vorige[nm]|im Vor)\s?Monats?\b", re.IGNORECASE)
YEARLY = re.compile(r"\b(?:years?|yearly|annual(?:ly)?|jahr\w*|jährlich)\b", re.IGNORECASE)
# A date that is a while away.
AGO = re.compile(r"\s*(?:ago|earlier|before today|her\b)", re.IGNORECASE)
VOR = re.compile(r"\bvor\s*$", re.IGNORECASE)
# What speaks of an example, of one of several, and of a date that a length of time leads to.
TIMES = re.compile(r"twice|thrice|\w+mal", re.IGNORECASE)
EXAMPLE = re.compile(
    r"(?:\b(?:for example|for instance|e\.g\.|suppose|imagine|let[’']s say"
    r"|zum beispiel|beispielsweise|angenommen(?=,))"
    r"|z\.\s?b\.|[,(]\s?say,)",
    re.IGNORECASE,
)
# Before a number that is said not to be so.
NEGATED = re.compile(
    r"\b(?:not|instead of|rather than|first said|said|nicht|statt|anstatt|anstelle von|ursprünglich)\s+(?:[€$£])?$",
    re.IGNORECASE,
)
# What says that there is none.
NOBODY = re.compile(r"\b(?:nobody|no one|nothing|none|no|niemand|nichts|keine?[rnms]?)\b", re.IGNORECASE)
# Before a number of which one is a part.
ONE_IN = re.compile(
    r"\b\d+ (?:in|out of) $|\b(?:one|1) (?:in|out of|of)(?: every)? $|\b(?:jede[rs]?|every) $", re.IGNORECASE
)
# A condition, up to what follows from it.
CONDITION = re.compile(
    r"(?:\b(?:if|suppose|assuming|provided|wenn|sofern|angenommen(?=,))\b|(?:^|[.,;]\s+)(?:falls|würden?|hätten?|sollten?|should|had)\b)"
    r"(?:(?!\b(?:you|he|she|it|they|we|there|i)"
    r"(?:['’](?:ll|d)| (?:will|would|gets?|can|could|may|must|have to))\b)[^,;.\n])*",
    re.IGNORECASE | re.MULTILINE,
)
# Before a number from where on something is so.
THRESHOLD = re.compile(
    r"\b(?:after|within|from|above|over|more than|less than|at least|below|under|up to|until"
    r"|nach|innerhalb von|binnen|ab|über|unter|mehr als|weniger als|mindestens|bis zu)\s+[€$£]?$",
    re.IGNORECASE,
)
# What speaks of what would be.
SUPPOSED = re.compile(
    r"\b(?:if|would|had (?:it|they|you|we)|assuming|wenn|falls|würden?|wäre[nt]?|hätten?|sofern|bräuchten?)\b",
    re.IGNORECASE,
)
DIFFERENCE = re.compile(
    r"\b(?:differ\w*|less|more|cheaper|dearer|left|free(?!\s+(?:of charge|shipping|delivery|returns?))"
    r"|remain\w*|used|since|between|apart|gap|late|over|rest|missing"
    r"|short|below|above|under|higher|lower|warmer|colder|larger|smaller|bigger|greater|longer|shorter|older|younger"
    r"|did not|do not|have not|paid|saved?|of which|interest|profit|margin"
    r"|leaves|leaving|to go|grew|grown|shrank"
    r"|unterschied\w*|differenz"
    r"|weniger|mehr|günstiger|teurer|frei|übrig|verbrauch\w*|zwischen|seit|rest\w*|spät|fehl\w*|offen\w*|unter|über"
    r"|bleib\w*|verbleib\w*|gewachsen|gesunken|höher|niedriger|tiefer|größer|kleiner|länger|kürzer|älter|jünger|nicht|bezahlt|gespart|davon|zinsen|gewinn|marge)\b",
    re.IGNORECASE,
)
_TOTALS = r"total|together|altogether|in all|overall|insgesamt|zusammen|gesamt\w*"
TOTAL = re.compile(rf"\b(?:{_TOTALS})\b", re.IGNORECASE)
# What speaks of a sum of the rows that a sentence names.
ADDED = re.compile(rf"\b(?:{_TOTALS}|c[ao]mes? to|add(?:s|ed)? up to|sum up to|ergeben|ergibt)\b", re.IGNORECASE)
BETWEEN = re.compile(
    rf"{DIFFERENCE.pattern}|\b(?:up(?!\s+to)|down|net|gain\w*|loss|lost|plus|minus|rose|risen|fell|fallen|increas\w*|decreas\w*|drop\w*"
    r"|ahead|behind|exceed\w*|still|needs?|unsold|empty|extra|additional|outstanding|due|overdue|change\w*|improv\w*"
    r"|gestiegen|zugelegt|gefallen|zunahme|rückgang|zuwachs|noch|leer|plus|minus|verlust|vorsprung|rückstand|teurer"
    r"|besser|schlechter|schneller|langsamer|faster|slower|better|worse|heavier|lighter)\b",
    re.IGNORECASE,
)
TAX = re.compile(
    r"\b(?:tax\w*|vat|gst|discount\w*|surcharge\w*|\w*aufschlag|\w*zuschlag|including|incl|plus|mwst|ust|mehrwertsteuer|steuer\w*|rabatt\w*|inklusive|inkl"
    r"|zuzüglich|zzgl)\b",
    re.IGNORECASE,
)
# What speaks of a part that is taken of an amount.
TAKEN = re.compile(
    rf"{TAX.pattern}|\b(?:off|less|more|fall(?:s|en)?|rise(?:s|n)?|pays?|receive[sd]?|get|saves?|fee|deduct\w*|withh\w*|restock\w*|refund\w*"
    r"|down payment|deposit|advance|of (?:the|that|your)|mehr|weniger|fällt|steigt|zahlen|spar\w*"
    r"|abzüglich|abzug|gebühr\w*|anzahlung|erstatt\w*|davon|vom|von)\b",
    re.IGNORECASE,
)
EACH = re.compile(r"\b(?:per|each|every|apiece|pro|je|jede[nrms]?|stück)\b", re.IGNORECASE)
TIMES_BEHIND = re.compile(r"\s?(?:×|x\b|times\b|mal\b|-?fach)", re.IGNORECASE)
QUOTIENT = re.compile(
    rf"{AVERAGE.pattern}"
    r"|\b(?:apiece|each|every|a month|a year|a week|monthly|je|jede\w*|pro|per|auf 100|im monat|im jahr|am tag)\b",
    re.IGNORECASE,
)
# What speaks of an amount that is taken several times.
PRODUCT = re.compile(
    r"×|\b(?:for|times|at|each|every|per|worth|value\w*|cost\w*|bring\w*|make|makes|für|je|pro|à|zu je|mal|wert"
    r"|kostet|kosten|bringt|bringen|macht|ergibt|ergeben|come|comes|earn\w*|save[sd]?|pay|pays|possible)\b",
    re.IGNORECASE,
)
MULTIPLIED = re.compile(r"×|\b(?:times|possible|capacity|mal|möglich\w*)\b", re.IGNORECASE)
# What speaks of how a number was computed.
OPERATIONS = {
    "quotient": re.compile(
        rf"{AVERAGE.pattern}|{EACH.pattern}|\b(?:an?|times|mal|[a-z]*fach\w*|as many|as much)\b", re.IGNORECASE
    ),
    "difference": BETWEEN,
    "sum": re.compile(
        rf"{ADDED.pattern}|\b(?:sum|plus|makes?|amounts?|come|adds?|macht|beläuft|belaufen|summe)\b",
        re.IGNORECASE,
    ),
    "share": re.compile(rf"{TAX.pattern}|%|\b(?:per ?cent|prozent|share|anteil)\b", re.IGNORECASE),
    "product": PRODUCT,
}
AHEAD_OF_TODAY = re.compile(
    r"\b(?:today|now|arrives?|arrive|ready|will|would|should|until|by|heute|jetzt|wird|werden|sollte|bis|kommt|kommen)\b",
    re.IGNORECASE,
)
# What speaks of several rows in one sentence.
COMPARED = re.compile(
    r"\b(?:than|compared|versus|vs|whereas|while|followed by|ahead of|as many as|as much as|as long as|another"
    r"|(?:a|the) \w+ one"
    r"|als|gegenüber|verglichen|während|gefolgt von|vor allem|ein weiterer|eine weitere)\b",
    re.IGNORECASE,
)
# What speaks of a last day, and of what is left of a month or year.
DEADLINE = re.compile(
    r"\b(?:until|till|by|deadline|latest|expires?|runs?|ends?|due|last day|window|arrives?|back|bis|spätestens"
    r"|frist|endet|läuft|fällig|ablauf|letzte[rnm]? tag|zurück)\b",
    re.IGNORECASE,
)
REMAINING = re.compile(
    r"\b(?:left|remain\w*|rest|until the end|to go|noch|verbleib\w*|übrig\w*|restlich\w*|bis ende)\b", re.IGNORECASE
)
AHEAD = re.compile(r"\b(?:in|within|after|innerhalb von|binnen|nach)\s*$", re.IGNORECASE)
RELATIVE = {
    "today": 0, "heute": 0, "yesterday": -1, "gestern": -1, "tomorrow": 1, "morgen": 1, "vorgestern": -2,
    "übermorgen": 2,
}  # fmt: skip

_COMMON_ENGLISH = (
    "the a an and or of to in on at for from by with is are was were be been has have had it its this that these those"
    " you your we our i not no so as there here all any which who what when where how will would can could may might"
    " since until after before while during because both each every some many several another please let me if then"
    " than but also only more most they their them he she his her"
)
_COMMON_GERMAN = (
    "der die das den dem des ein eine einen einem einer und oder von zu in im an am auf für aus bei mit nach ist sind"
    " war waren wird werden wurde wurden hat haben hatte es sie er ich wir ihr ihre ihren ihrem nicht kein keine so als"
    " da hier alle welche wer was wann wo wie kann können bitte wenn dann aber auch nur mehr"
    " noch sich um über unter seit bis pro je ab vom zum zur beim im ins durch gegen ohne während danach dabei"
    " wegen trotz statt außer zwischen neben innerhalb außerhalb vor hinter noch alles beide beiden beides am ab je"
    " mein meine dein deine sein seine ihres unser unsere euer eure dort dann deshalb jedoch zuletzt zuerst"
    " dazu daher damit insgesamt zusammen bisher bereits außerdem pünktlich davon darin jeder jede jedes laut gemäß"
)


@cache
def common_words(language: str) -> frozenset[str]:
    """Return the words of a language that stand in nearly every text."""
    return frozenset((_COMMON_GERMAN if language == "de" else _COMMON_ENGLISH).split())


_WORD = re.compile(r"[a-zäöüß]+", re.IGNORECASE)


def language_of(text: str) -> str:
    """Return "de" for a text that is more German than English, else "en"."""
    words = [word.casefold() for word in _WORD.findall(text[:4_000])]
    german = sum(word in common_words("de") for word in words)
    english = sum(word in common_words("en") for word in words)
    return "de" if german > english else "en"


@cache
def months() -> dict[str, int]:
    """Return the months by their names and short names in all languages, in small letters without a full stop."""
    found: dict[str, int] = {"sept": 9, "jänner": 1, "jän": 1}
    for language in LOCALES:
        locale = Locale(language)
        for form in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in locale.months[form][width].items():
                    found.setdefault(str(name).casefold().rstrip("."), int(number))
    return found


@cache
def weekdays() -> dict[str, int]:
    """Return the days of the week by their names in all languages, Monday as 0, in small letters, with "montags"."""
    found: dict[str, int] = {}
    for language in LOCALES:
        for number, name in Locale(language).days["format"]["wide"].items():
            for form in (str(name), f"{name}s"):
                found.setdefault(form.casefold(), int(number))
    return found


def alternatives(words: object) -> str:
    """Return a pattern for any of some words, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))  # type: ignore[call-overload]
