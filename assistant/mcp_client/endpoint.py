"""The address of an external MCP server and the credentials for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assistant.toolkit.guards.url_guard import UrlGuard
from assistant.toolkit.text import stripped


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """Credentials for OAuth's client-credentials grant.

    `issuer` is the authorization server: the secret is sent to no other, whatever the MCP server announces. What
    copying adds around the values is removed.
    """

    client_id: str
    client_secret: str = field(repr=False)
    issuer: str
    scope: str = ""

    def __post_init__(self) -> None:
        for name in ("client_id", "client_secret", "issuer", "scope"):
            object.__setattr__(self, name, stripped(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Command:
    """A program on this machine that speaks MCP on its standard input and output."""

    program: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One server for one user: a URL with credentials, or a command."""

    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    oauth: OAuthClient | None = None
    command: Command | None = None
    guard: UrlGuard = field(default_factory=UrlGuard)

    @property
    def address(self) -> str:
        """The URL, or the command as one line; without credentials."""
        return self.url if self.command is None else " ".join((self.command.program, *self.command.arguments))
