"""What people call the browser and the system that a User-Agent header names."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext

# The first word that occurs decides: most browsers name those that they descend from, too.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("YaBrowser/", "Yandex Browser"),
    ("Vivaldi/", "Vivaldi"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("HeadlessChrome/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser and its system, both empty if the header names none that is known."""

    name: str
    system: str

    def __str__(self) -> str:
        if self.name and self.system:
            return gettext("%(browser)s on %(system)s") % {"browser": self.name, "system": self.system}
        return self.name or self.system or gettext("Another program")


def browser_of(user_agent: str) -> Browser:
    """Return what a User-Agent header says."""
    return Browser(_first(BROWSERS, user_agent), _first(SYSTEMS, user_agent))


def _first(words: tuple[tuple[str, str], ...], user_agent: str) -> str:
    return next((name for word, name in words if word in user_agent), "")
