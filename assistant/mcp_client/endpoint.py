"""Where an outside MCP server is, and with which credentials it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assistant.toolkit.guards.url_guard import UrlGuard


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client of an authorization server, by OAuth's client-credentials grant.

    `issuer` names that server: the secret is sent to no other, whatever the MCP server says.
    """

    client_id: str
    client_secret: str = field(repr=False)
    issuer: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A program of the deployment's that speaks MCP on its standard input and output."""

    program: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One server as one user asks it: a URL with credentials, or a command."""

    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    oauth: OAuthClient | None = None
    command: Command | None = None
    guard: UrlGuard = field(default_factory=UrlGuard)
