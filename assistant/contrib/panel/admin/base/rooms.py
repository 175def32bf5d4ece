"""The rooms of the control panel: what its navigation shows, and which pages belong to which."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from django.apps import apps
from django.contrib.admin import AdminSite
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import administered, is_operator, permitted_of
from assistant.contrib.panel.admin.base.picker import Picker, picker_of


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """A room: its name, the URL name of its first page, those of more pages, and the models whose pages it has.

    Without a first page it is the list of the first model that the user may see.
    """

    slug: str
    name: str | Promise
    models: tuple[str, ...] = ()
    first_page: str = ""
    first_page_name: str | Promise = ""
    # Pages for operators and tenants' admins.
    more_pages: tuple[tuple[str, str | Promise], ...] = ()
    # Without the permission in any tenant the first page is not offered; None: it is offered to all.
    permission: str | None = None


ROOMS = (
    Room("home", _("Home"), first_page="admin:index"),
    Room("tenants", _("Tenants"), ("tenant", "membership", "customrole")),
    Room(
        "assistants",
        _("Assistants"),
        ("assistant", "promptversion", "promptvariable", "document"),
    ),
    Room(
        "tools",
        _("Tools"),
        ("toolsetting",),
        "admin:switchboard",
        _("Switchboard"),
        (("admin:simulate", _("Simulate")),),
        permission="tools",
    ),
    Room("conversations", _("Conversations"), ("conversation", "run", "message", "toolcall", "feedback")),
    Room("inbox", _("Inbox"), ("approval", "incident")),
    Room("spend", _("Spend"), ("usageentry",), "admin:spend", permission="spend"),
    Room(
        "settings",
        _("Settings"),
        ("provider", "apikey", "job", "auditentry"),
    ),
)
# Of optional apps: the rooms, each with the slug of the room that it follows.
_added_rooms: list[tuple[Room, str]] = []


@dataclass(frozen=True, slots=True, eq=False)
class AddedPage:
    """A page of an optional app that is no list of a model.

    Attributes:
        room: the slug of the room whose last pages it is among.
        route: its address below the panel's.
        view: shows it, given the request and the site.
        may_see: whether somebody is offered it. The view checks that itself.
    """

    room: str
    name: str | Promise
    route: str
    url_name: str
    view: Callable[[HttpRequest, AdminSite], HttpResponse]
    may_see: Callable[[HttpRequest], bool]

    def of(self, site: AdminSite) -> Callable[[HttpRequest], HttpResponse]:
        """Return the view of the page in a site."""

        def view(request: HttpRequest) -> HttpResponse:
            return self.view(request, site)

        return view


added_pages: list[AddedPage] = []
# Of optional apps: the room, the model, and the name of the core's or the app's model that it follows.
_added: list[tuple[str, type[Model], str]] = []


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """An entry of the navigation of people who are no operators: its name, and the rooms whose pages it has."""

    slug: str
    name: str | Promise
    rooms: tuple[str, ...]


# Rooms of optional apps that no entry names are in the last one.
ENTRIES = (
    Entry("overview", _("Overview"), ("home",)),
    Entry("assistants", _("Assistants"), ("assistants",)),
    Entry("tools", _("Tools"), ("tools",)),
    Entry("conversations", _("Conversations"), ("conversations", "inbox")),
    Entry("people", _("People and spend"), ("tenants", "spend", "settings")),
)
ADVANCED = Room("advanced", _("Advanced"), first_page="admin:advanced")


# Lists of the last entry that are about how the program works: they stand below *More*.
TECHNICAL = frozenset(
    ("membership", "usageentry", "job", "webhook", "webhookdelivery", "mcpserver", "mcpcredential", "widgetorigin")
)


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the navigation; `is_current` if it leads to the page, or the room, that is shown."""

    name: str
    url: str
    is_current: bool = False
    is_technical: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """The header of each page: the rooms, the pages of the room that is shown, the tenant picker and the search.

    Attributes:
        more: pages of the room that people who are no operators need seldom.
    """

    rooms: tuple[Link, ...]
    pages: tuple[Link, ...]
    picker: Picker
    query: str
    more: tuple[Link, ...] = ()

    @property
    def is_more_shown(self) -> bool:
        """Whether the page that is shown is one of `more`."""
        return any(link.is_current for link in self.more)


def add_room(room: Room, *, after: str) -> None:
    """Show a room in the navigation.

    Args:
        after: the slug of the room that it follows.
    """
    _added_rooms.append((room, after))


def rooms() -> list[Room]:
    """Return the rooms, those of optional apps too, in the order of the navigation."""
    every = list(ROOMS)
    for room, after in _added_rooms:
        every.insert([one.slug for one in every].index(after) + 1, room)
    return every


def add_page(page: AddedPage) -> None:
    """Show a page in a room."""
    added_pages.append(page)


def show_in_room(slug: str, model: type[Model], *, after: str = "") -> None:
    """Show the list of a model in a room.

    Args:
        slug: the room's.
        after: the name of the model whose list it follows; "" for the first of the room.
    """
    _added.append((slug, model, after))


def models_of(room: Room) -> list[type[Model]]:
    """Return the models of a room, those of optional apps too, in the order of its pages."""
    models = [apps.get_model("assistant", name) for name in room.models]
    for slug, model, after in _added:
        if slug == room.slug:
            names = [one._meta.model_name for one in models]
            models.insert(names.index(after) + 1 if after else 0, model)
    return models


def frame(site: AdminSite, request: HttpRequest) -> Frame:
    """Return the header of a page for a user who may use the admin."""
    every = rooms()
    pages = {room.slug: tuple(_pages(room, site, request)) for room in every}
    current = _current(pages, request)
    if is_operator(request):
        links = [
            Link(str(room.name), pages[room.slug][0].url, room.slug == current) for room in every if pages[room.slug]
        ]
        links.append(Link(str(ADVANCED.name), reverse(ADVANCED.first_page), current == ADVANCED.slug))
        of_room = pages.get(current, ())
    else:
        links, of_room = _entries(request, pages, current)
    shown = [replace(page, is_current=page.url == request.path) for page in of_room] if len(of_room) > 1 else []
    is_folded = not is_operator(request)
    return Frame(
        tuple(links),
        tuple(page for page in shown if not (is_folded and page.is_technical)),
        picker_of(request),
        request.GET.get("q", "") if request.path == reverse("admin:search") else "",
        tuple(page for page in shown if is_folded and page.is_technical),
    )


def every_page(site: AdminSite, request: HttpRequest) -> list[tuple[str, Link]]:
    """Return the pages of all rooms that the user may open, each with the name of its room."""
    return [
        (str(room.name), page if is_operator(request) else _of_one_tenant(request, page))
        for room in rooms()
        for page in _pages(room, site, request)
    ]


def _entries(
    request: HttpRequest, pages: dict[str, tuple[Link, ...]], current: str
) -> tuple[list[Link], tuple[Link, ...]]:
    """Return the entries of somebody who is no operator, and the pages of the one that is shown."""
    named = {slug for entry in ENTRIES for slug in entry.rooms}
    others = tuple(slug for slug in pages if slug not in named)
    links: list[Link] = []
    shown: tuple[Link, ...] = ()
    for entry in ENTRIES:
        slugs = (*entry.rooms, *(others if entry is ENTRIES[-1] else ()))
        own = tuple(_of_one_tenant(request, link) for slug in slugs for link in pages[slug])
        if own:
            links.append(Link(str(entry.name), own[0].url, current in slugs))
            shown = own if current in slugs else shown
    return links, shown


def _of_one_tenant(request: HttpRequest, link: Link) -> Link:
    """Return the people of the only tenant of a user in place of the list of tenants."""
    tenants = permitted_of(request).anywhere
    if link.url != reverse("admin:assistant_tenant_changelist") or len(tenants) != 1:
        return link
    (tenant_id,) = tenants
    may_see = tenant_id in permitted_of(request).tenants("people")
    return Link(str(_("People")), reverse("admin:assistant_tenant_people", args=[tenant_id])) if may_see else link


def _pages(room: Room, site: AdminSite, request: HttpRequest) -> Iterator[Link]:
    is_offered = room.permission is None or is_operator(request) or permitted_of(request).tenants(room.permission)
    if room.first_page and is_offered:
        yield Link(str(room.first_page_name or room.name), reverse(room.first_page))
    for page_name, label in room.more_pages if is_operator(request) or administered(request) else ():
        yield Link(str(label), reverse(page_name))
    for model in models_of(room):
        page = site._registry.get(model)
        if page is not None and page.has_module_permission(request):
            options = model._meta
            url = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")
            name = str(capfirst(options.verbose_name_plural))
            yield Link(name, url, is_technical=options.model_name in TECHNICAL)
    for added in added_pages:
        if added.room == room.slug and added.may_see(request):
            yield Link(str(added.name), reverse(f"admin:{added.url_name}"))


def _current(pages: dict[str, tuple[Link, ...]], request: HttpRequest) -> str:
    """Return the slug of the room that the requested page belongs to; pages below a room's pages are in it."""
    home = reverse("admin:index")
    if request.path == home:
        return "home"
    if request.path == reverse("admin:search"):
        return ""
    for slug, links in pages.items():
        if any(link.url != home and request.path.startswith(link.url) for link in links):
            return slug
    return ADVANCED.slug
