"""Admits callers: authenticates them, checks scopes and limits, and sets which tenant's rows they may see.

Every door of the product declares a `Door` and calls `admit` or `aadmit` once for each request or handshake.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from assistant.services.db.threads import in_database, in_share
from assistant.services.limits.api_key_requests import TooManyRequests, count_request
from assistant.services.limits.rate_limits import take_member_request
from assistant.services.tenancy.authentication import (
    AccessDenied,
    Caller,
    CredentialKind,
    Credentials,
    identify,
    require_address,
    require_scope,
)
from assistant.services.tenancy.row_scope import all_tenants, set_tenants
from assistant.services.tenancy.scopes import Rule

# Shares of the database threads for callers who are not known yet: names of tenants and keys can be made up.
SHARES = 16


@dataclass(frozen=True, slots=True)
class Door:
    """What an entry point (an API, the websocket, MCP) requires of its callers.

    Attributes:
        accepts: the kinds of credentials that are accepted.
        counts_requests: whether each request counts against the limits of its API key. Off for websockets, where each
            run counts instead.
        limits_members: whether a member's requests to this process are limited, as those over MCP are.
    """

    accepts: frozenset[CredentialKind]
    counts_requests: bool = True
    limits_members: bool = False


def admit(
    credentials: Credentials,
    door: Door,
    *,
    rule: Rule,
    tenant_slug: str = "",
    assistant_slug: str = "",
) -> Caller:
    """Authenticate the caller of a request and check scopes and limits. Then only the caller's tenant is visible.

    Queries the database, and sets the tenant scope of the current thread. A request that is refused counts towards
    limits only if its address was wrong.

    Args:
        rule: the scopes that a key or token needs.
        tenant_slug, assistant_slug: those in the address; empty where the key decides, and for any assistant.

    Raises:
        AccessDenied: see its `reason`.
    """
    with all_tenants():
        caller = identify(credentials, accepts=door.accepts, tenant_slug=tenant_slug, assistant_slug=assistant_slug)
        require_scope(caller, rule)
        _apply_limits(caller, door)
        require_address(caller, tenant_slug=tenant_slug, assistant_slug=assistant_slug)
    set_tenants(caller.member.tenant_id)
    return caller


async def aadmit(
    credentials: Credentials,
    door: Door,
    *,
    rule: Rule,
    tenant_slug: str = "",
    assistant_slug: str = "",
) -> Caller:
    """As `admit`, from async code: the tenant is entered for the task that awaits this."""
    # Callers that address another tenant do not delay this one's, although nothing is known of either yet.
    named = (tenant_slug or credentials.bearer or "").encode()
    with in_share(f"door {crc32(named) % SHARES}"):
        caller = await in_database(
            admit, credentials, door, rule=rule, tenant_slug=tenant_slug, assistant_slug=assistant_slug
        )
    # Context variables that were set in the thread are not set in this task.
    set_tenants(caller.member.tenant_id)
    return caller


def _apply_limits(caller: Caller, door: Door) -> None:
    member = caller.member
    if door.limits_members and not take_member_request(tenant_id=member.tenant_id, user_id=member.user_id):
        raise AccessDenied("too_many_requests", "Too many requests; wait a moment.", retry_after=1)
    if door.counts_requests:
        try:
            count_request(member=member)
        except TooManyRequests as exc:
            raise AccessDenied("too_many_requests", str(exc), retry_after=exc.retry_after) from exc
