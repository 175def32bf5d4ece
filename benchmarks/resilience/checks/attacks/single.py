"""Single attacks, each stopped by one defence whose test takes seconds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import failed

TITLE = "Single attacks"
HOW = (
    "Tests of the suite, on SQLite: one tenant's files at all readers; a person's files that take long, again and "
    "again; one of them a second time; a small file that unpacks to very much; one long paragraph that ends in a "
    "dash; an address in a question that is suggested after untrusted text; a stranger's invitation of another "
    "tenant's member; heads of requests without end, and a server without a bound of them, which must say so; a "
    "member's token on a page of another origin; an image of more than 50 megapixels, and one that is named as a page; "
    "packages from npm that bring scripts; `asyncio.to_thread` in a tool. A planted fault takes the defence away."
)
READERS = "tests failed of readers that tenants share"
SECONDS = "tests failed of seconds of reading"
REPEATED = "tests failed of files that took too long before"
UNPACKED = "tests failed of small files that unpack to much"
PIECES = "tests failed of pieces that hold the event loop"
SUGGESTED = "tests failed of suggested questions"
INVITED = "tests failed of invitations at sign-in"
HEADS = "tests failed of requests' heads"
WARNED = "tests failed of servers without a bound of requests' heads"
TOKENS = "tests failed of a member's token elsewhere"
IMAGES = "tests failed of large images"
ENDINGS = "tests failed of names of files"
PACKAGES = "tests failed of packages with scripts"
CONNECTIONS = "tests failed of connections that tools leave"
TESTS: Mapping[str, Sequence[str]] = {
    READERS: ["tests/services/files/test_reader_turns.py::test_no_tenant_holds_all_places_and_tenants_take_turns"],
    SECONDS: [
        "tests/contrib/file_reading/test_reader_seconds.py::test_a_person_whose_files_took_too_long_waits_and_nobody_else_does"
    ],
    REPEATED: [
        "tests/contrib/file_reading/test_reader_seconds.py::test_a_file_that_took_too_long_is_refused_at_once_the_next_time"
    ],
    UNPACKED: [
        "tests/contrib/file_reading/test_reader_seconds.py"
        "::test_a_small_file_that_unpacks_to_very_much_is_refused_before_it_is_read"
    ],
    PIECES: ["tests/websocket/test_longest_piece.py::test_a_text_of_a_snapshot_is_sent_in_short_pieces"],
    SUGGESTED: [
        "tests/contrib/titles/test_follow_ups.py"
        "::test_nothing_is_suggested_in_a_conversation_that_has_read_text_from_outside"
    ],
    INVITED: [
        "tests/contrib/sign_in/oidc/test_oidc.py::test_a_stranger_who_invites_an_address_of_another_tenant_gets_nobody"
    ],
    HEADS: ["tests/asgi/test_request_heads.py::test_a_head_without_end_is_not_read_on"],
    WARNED: ["tests/asgi/test_request_heads.py::test_a_server_without_the_bound_says_so_at_its_start"],
    TOKENS: ["tests/contrib/end_users/test_member_visits.py::test_a_token_works_on_pages_of_its_own_origin_alone"],
    IMAGES: [
        "tests/services/files/test_images.py::test_an_image_of_more_than_fifty_megapixels_is_refused_by_its_header"
    ],
    ENDINGS: ["tests/services/files/test_images.py::test_a_file_has_the_ending_of_its_type"],
    PACKAGES: ["tests/site/test_npm_locks.py::test_installing_runs_no_script_and_resolves_nothing"],
    CONNECTIONS: ["tests/services/toolcalls/test_tool_connections.py::test_a_tools_to_thread_leaves_no_connection"],
}


def _in_servers_too() -> None:
    """Let servers that tests start plant the fault as well: its name is in their environment."""
    from tests.live import serve

    serve.__wrapped__.__kwdefaults__["application"] = "benchmarks.resilience.planted:application"  # type: ignore[attr-defined]


def let_a_tenant_have_all_readers() -> None:
    """A tenant may hold all places of readers."""
    from assistant.services.files.reader_turns import FairPlaces

    begin: Callable[..., None] = FairPlaces.__init__

    def begin_without_share(self: Any, places: int) -> None:
        begin(self, places)
        self._most_of_one = places
        self._most_of_visitors = places

    FairPlaces.__init__ = begin_without_share  # type: ignore[method-assign]


def count_no_seconds_of_reading() -> None:
    """Anybody's files may be read for as long as they take."""
    from assistant.contrib.file_reading.reader_seconds import ReaderSeconds

    ReaderSeconds.wait = lambda self, uploader: 0.0  # type: ignore[method-assign]


def forget_slow_files() -> None:
    """A file that took too long is read again."""
    from assistant.contrib.file_reading.reader_seconds import KnownFiles

    KnownFiles.outcome = lambda self, content: None  # type: ignore[method-assign]


def unpack_any_file() -> None:
    """The reader of Office files, which is a program of its own, unpacks whatever it is given."""
    from assistant.contrib.file_reading import reading

    worker = Path(tempfile.mkdtemp()) / reading._OFFICE.name
    worker.write_text(f"{reading._OFFICE.read_text()}\n_check_zip = lambda content, most_xml: None\n")
    reading._PACKAGES = {**reading._PACKAGES, worker: reading._PACKAGES[reading._OFFICE]}
    reading._OFFICE = worker


def parse_blocks_of_any_length() -> None:
    """Blocks of any length are parsed to find their end."""
    from assistant.markdown import block_splitter

    block_splitter.MAX_PARSED_CHARACTERS = 10**9


def suggest_after_untrusted_text() -> None:
    """Questions are suggested whatever the conversation has read."""
    from assistant.contrib.titles import extension

    _in_servers_too()
    extension.sources_of = lambda messages: ()  # type: ignore[attr-defined]


def join_without_being_asked() -> None:
    """Who signs in by OpenID Connect joins every tenant that has invited them."""
    from assistant.contrib.invitations import at_sign_in, invitations
    from assistant.contrib.sign_in.pages import oidc_accounts
    from assistant.contrib.sign_in.services import joining

    join = joining.join

    def join_all(*, user: Any, email: str, name: str = "") -> Any:
        joined = join(user=user, email=email, name=name)
        for invitation in at_sign_in._invitations_to(email):
            invitations.accept(invitation=invitation, user=user)
        return joined

    oidc_accounts.join = join_all  # type: ignore[attr-defined]


def take_heads_of_any_size() -> None:
    """Heads of requests are read on."""
    from assistant.asgi import request_heads

    _in_servers_too()
    request_heads.MAX_HEAD = 2**40


def look_at_no_protocol() -> None:
    """Nobody looks at the server's protocol at its start."""
    from assistant.asgi import request_heads

    _in_servers_too()
    request_heads.check_heads = lambda receive: None


def take_tokens_of_any_origin() -> None:
    """A member's token counts on every page."""
    from assistant.contrib.end_users.services import member_tokens
    from assistant.services.tenancy import authentication

    _in_servers_too()

    def by_token_of_any_origin(*, token: str, origin: str, **address: str) -> Any:
        said = member_tokens.read_member_token(token)
        return member_tokens.caller_of_token(token=token, origin=said.origin if said else origin, **address)

    kind = authentication.CredentialKind.MEMBER_TOKEN
    authentication.accept_tokens(kind, prefix=member_tokens.TOKEN_PREFIX, caller_of=by_token_of_any_origin)


def take_images_of_any_size() -> None:
    """An image may have any number of pixels."""
    from assistant.toolkit import image_sizes

    image_sizes.MAX_PIXELS = 2**62


def keep_names_of_files() -> None:
    """A file is stored under the ending that its uploader gave it."""
    from assistant.services.files import attachments

    attachments.with_own_ending = lambda name, media_type, endings=None: name  # type: ignore[attr-defined]


def run_scripts_of_packages() -> None:
    """The commands of the Makefile run what packages from npm bring."""
    from tests.site import test_npm_locks

    test_npm_locks.MAKEFILE = test_npm_locks.MAKEFILE.replace(" --ignore-scripts", "")


def leave_connections_open() -> None:
    """Threads of the loop keep the connections that a tool's jobs have opened."""
    from assistant.toolkit.carried_context import set_loop_pool_cleanup

    set_loop_pool_cleanup(None)


FAULTS = (
    Fault("a tenant may have all readers of files", READERS, let_a_tenant_have_all_readers),
    Fault("seconds of reading are not limited", SECONDS, count_no_seconds_of_reading),
    Fault("a file that took too long is read again", REPEATED, forget_slow_files),
    Fault("files may unpack to any size", UNPACKED, unpack_any_file),
    Fault("Markdown blocks of any length are parsed", PIECES, parse_blocks_of_any_length),
    Fault("questions are suggested after untrusted text", SUGGESTED, suggest_after_untrusted_text),
    Fault("people join by an invitation without being asked", INVITED, join_without_being_asked),
    Fault("heads of requests have no bound", HEADS, take_heads_of_any_size),
    Fault("a server without a bound of heads says nothing", WARNED, look_at_no_protocol),
    Fault("a member's token counts on every page", TOKENS, take_tokens_of_any_origin),
    Fault("images of any size are taken", IMAGES, take_images_of_any_size),
    Fault("files keep the ending that they were given", ENDINGS, keep_names_of_files),
    Fault("packages from npm run their scripts", PACKAGES, run_scripts_of_packages),
    Fault("threads of tools keep their connections", CONNECTIONS, leave_connections_open),
)


def measure(testbed: Testbed) -> Sequence[Line]:
    fault = testbed.fault
    chosen = TESTS if fault is None else {fault.misses: TESTS[fault.misses]}
    lines: list[Line] = []
    for what, tests in chosen.items():
        found = failed(tests, fault, {})
        lines.append(Line(what, len(found), "", 0, beside=f"of {len(tests)}" + "".join(f", {one}" for one in found)))
    return lines
