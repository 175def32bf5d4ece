"""Verbs of actions in English and German, in groups of one meaning, with the words that tools are named by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Group:
    """Verbs of one meaning: what names of tools say, and the participles of each language, divided by blanks."""

    tools: str
    english: str
    german: str


# What tools' names say, and the participles of both languages.
GROUPS: tuple[Group, ...] = (
    Group(
        tools="cancel void revoke storno stornier terminate withdraw unsubscribe",
        english="cancelled canceled voided revoked withdrawn terminated unsubscribed",
        german="storniert gekündigt abgesagt widerrufen zurückgezogen annulliert abbestellt",
    ),
    Group(
        tools="refund reimburse credit erstatt",
        english="refunded reimbursed credited",
        german="erstattet zurückerstattet gutgeschrieben zurückgezahlt",
    ),
    Group(
        tools=(
            "send mail email notify message remind reminder sms post forward invite inform tell alert share "
            "publish deliver invoice versend sende benachrichtig"
        ),
        english=(
            "sent emailed e-mailed mailed messaged notified informed reminded forwarded invited posted published "
            "shared alerted texted contacted"
        ),
        german=(
            "gesendet versendet verschickt geschickt benachrichtigt informiert erinnert weitergeleitet eingeladen "
            "gemailt veröffentlicht geteilt abgeschickt abgesendet kontaktiert"
        ),
    ),
    Group(
        tools=(
            "update change edit modify set adjust correct patch rename replace switch upgrade downgrade plan "
            "amend mark save write record lower reduce increase änder aktualisier senk erhöh"
        ),
        english=(
            "updated changed edited modified set adjusted corrected renamed replaced switched upgraded downgraded "
            "amended marked fixed lowered reduced increased"
        ),
        german=(
            "geändert aktualisiert angepasst korrigiert umbenannt ersetzt umgestellt bearbeitet markiert "
            "gesenkt erhöht verringert hochgestuft abgeändert berichtigt eingestellt gesetzt"
        ),
    ),
    Group(
        tools=(
            "create add new open register insert make start file write append attach issue generate raise submit "
            "save record note request anleg erstell beantrag"
        ),
        english=(
            "created added opened registered inserted filed attached generated raised submitted saved recorded "
            "noted entered logged put set-up issued stored processed made requested"
        ),
        german=(
            "erstellt angelegt hinzugefügt eröffnet eingetragen registriert eingereicht gespeichert notiert "
            "angehängt aufgenommen erfasst hinterlegt vermerkt ausgestellt veranlasst beantragt angefordert"
        ),
    ),
    Group(
        tools="delete remove erase clear drop unassign purge lösch entfern",
        english="deleted removed erased cleared purged",
        german="gelöscht entfernt",
    ),
    Group(
        tools="book reserve schedule appointment reschedule calendar plan event meeting buch reservier termin",
        english="booked reserved scheduled arranged",
        german="gebucht reserviert vereinbart eingeplant angesetzt terminiert",
    ),
    Group(
        tools="move reschedule shift transfer postpone update change reroute redirect route divert verschieb umleit",
        english="moved rescheduled shifted transferred postponed rerouted redirected diverted",
        german="verschoben verlegt umgebucht übertragen umgezogen umgeleitet",
    ),
    Group(
        tools="order purchase buy place checkout bestell kauf",
        english="ordered reordered purchased bought placed",
        german="bestellt nachbestellt gekauft",
    ),
    Group(
        tools="close resolve complete finish end archive schliess schließ",
        english="closed resolved completed archived",
        german="geschlossen abgeschlossen gelöst archiviert",
    ),
    Group(
        tools="assign reassign delegate route escalate handover zuweis",
        english="assigned reassigned delegated escalated",
        german="zugewiesen zugeteilt eskaliert übergeben",
    ),
    Group(
        tools="approve accept confirm reject decline deny genehmig bestätig",
        english="approved confirmed rejected declined denied",
        german="genehmigt bestätigt abgelehnt freigegeben",
    ),
    Group(
        tools="extend renew prolong verläng",
        english="extended renewed prolonged",
        german="verlängert erneuert",
    ),
    Group(
        tools="pause suspend block lock disable deactivate hold freeze status sperr",
        english="paused suspended blocked locked disabled deactivated frozen",
        german="pausiert gesperrt deaktiviert angehalten blockiert",
    ),
    Group(
        tools="activate enable unlock unblock resume restart reset start trigger run aktivier",
        english="activated enabled unlocked unblocked resumed restarted reset started triggered",
        german="aktiviert entsperrt freigeschaltet gestartet neugestartet zurückgesetzt fortgesetzt",
    ),
    Group(
        tools="pay charge transfer bill invoice zahl überweis",
        english="paid charged transferred billed invoiced",
        german="bezahlt überwiesen abgebucht abgerechnet",
    ),
    Group(
        tools="upload download import export print sync hochlad",
        english="uploaded imported exported printed synchronized synced",
        german="hochgeladen importiert exportiert gedruckt synchronisiert",
    ),
    Group(
        tools="ship dispatch deliver fulfil fulfill versand",
        english="shipped dispatched",
        german="versandt",
    ),
    Group(
        tools="apply discount coupon voucher waive grant credit code fee rabatt gutschein erlass gewähr",
        english="applied waived granted redeemed",
        german="angewendet angewandt eingelöst erlassen gewährt eingeräumt",
    ),
    Group(
        tools="subscribe enrol enroll register sign join member participant anmeld abonnier",
        english="subscribed enrolled signed-up",
        german="angemeldet abonniert eingeschrieben",
    ),
    Group(
        tools="merge link connect combine join relate zusammenführ verknüpf verbind",
        english="merged linked connected combined",
        german="zusammengeführt verknüpft verbunden",
    ),
    Group(
        tools="alarm reminder timer remind weck erinner",
        english="set",
        german="gestellt",
    ),
)

# Verbs that say little without the noun before them: "the refund has been processed".
EMPTY = frozenset(
    {
        "issued", "made", "processed", "completed", "placed", "filed", "submitted", "raised", "started", "triggered",
        "entered", "ausgestellt", "veranlasst",
    }
)  # fmt: skip
# Groups of verbs that are also said of what an answer itself is made of: "I have created a list".
OF_TEXTS = frozenset(number for number, group in enumerate(GROUPS) if {"created", "updated"} & {*group.english.split()})


@cache
def groups_of() -> dict[str, tuple[int, ...]]:
    """Return the numbers of the groups of each participle."""
    found: dict[str, tuple[int, ...]] = {}
    for number, group in enumerate(GROUPS):
        for verb in (*group.english.split(), *group.german.split()):
            found[verb] = (*found.get(verb, ()), number)
    return found


@cache
def english_verbs() -> tuple[str, ...]:
    """Return the English participles of all groups."""
    return tuple(verb for group in GROUPS for verb in group.english.split())


@cache
def german_verbs() -> tuple[str, ...]:
    """Return the German participles of all groups."""
    return tuple(verb for group in GROUPS for verb in group.german.split())
