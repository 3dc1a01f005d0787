"""Access to the page: Host, Origin and a token are checked, and messages that the page never sends are dropped."""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import logging
import math
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from diffloom.interfaces import InputError

LONGEST = 2**16  # bytes of a message that a browser may send
LONGEST_TEXT = 200  # characters of a text that a control may be set to
_PATCH = threading.Lock()

_LOG = logging.getLogger("diffloom.viewer")  # takes the tracebacks of websockets, which requests of strangers cause
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False


class Guard:
    """Decides who may open the page and which messages count.

    A browser sends Origin and Host itself: a foreign page can change neither, nor read the token. So a page of another
    site is refused, and so is a name that was pointed at this machine (DNS rebinding).

    Args:
        host: Address that is served.
    """

    def __init__(self, host: str) -> None:
        self.token = secrets.token_urlsafe(24)
        self.active = False
        self._host = host

    def find_fault(self, path: str, headers: Any) -> str | None:
        """Return why a request is refused, or None.

        Args:
            path: Path of the request with its query.
            headers: Headers of the request.
        """
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(hosts) != 1 or not self._serves(hosts[0]):
            return "the Host of the request is not this page's"
        if len(origins) > 1 or any(_read_origin(one) != hosts[0].lower() for one in origins):
            return "the request comes from the page of another site (Origin)"
        if headers.get_all("Upgrade") and not origins:
            return "the request has no Origin"
        if not any(secrets.compare_digest(one.encode(), self.token.encode()) for one in self._tokens(path, headers)):
            return "the token is missing or wrong: open the address that diffloom printed, with its token"
        return None

    def make_cookie(self, headers: Any) -> str:
        """Return the cookie that carries the token from the first request to all further ones."""
        return f"{self._cookie(headers)}={self.token}; HttpOnly; SameSite=Strict; Path=/"

    def _serves(self, given: str) -> bool:
        """True if a Host header names the address that is served, or any address of a network that is served whole."""
        try:
            name = urlsplit(f"//{given}").hostname or ""
        except ValueError:
            return False
        own = {self._host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
        if name == "localhost" or name in own:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not _is_loopback(self._host)

    def _tokens(self, path: str, headers: Any) -> Iterator[str]:
        yield from parse_qs(urlsplit(path).query).get("token", [])
        for line in headers.get_all("Cookie"):
            try:
                found = SimpleCookie(line).get(self._cookie(headers))
            except CookieError:
                continue
            if found is not None:
                yield found.value

    def _cookie(self, headers: Any) -> str:
        """Return the name of the cookie. Ports share cookies, so it bears the port."""
        return "diffloom-" + "".join(c for c in headers.get("Host", "").rpartition(":")[2] if c.isalnum())


def _read_origin(given: str) -> str:
    """Return host and port of an Origin, or "" if it is none of the web."""
    scheme, found, rest = given.lower().partition("://")
    return rest if found and scheme in ("http", "https") else ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def accept(message: Any) -> bool:
    """True for messages that the page sends: a control was set, or the view was turned.

    Args:
        message: Decoded message of viser.
    """
    kind = type(message).__name__
    if kind == "ViewerCameraMessage":
        return all(_is_finite(value) for value in vars(message).values())
    if kind != "GuiUpdateMessage" or not isinstance(message.uuid, str):
        return False
    updates = message.updates
    return isinstance(updates, dict) and set(updates) == {"value"} and _is_plain(updates["value"])


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT
    return isinstance(value, bool | int | float) and math.isfinite(value)


def _is_finite(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(_is_finite(one) for one in value)
    return not isinstance(value, float) or math.isfinite(value)


class GuardedConnection:
    """Connection of a browser that hands on only messages which ``accept`` takes.

    Args:
        connection: Connection of websockets.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def recv(self) -> bytes:
        """Return the next message that the page may send; all else is dropped."""
        while True:
            raw = await self._connection.recv()
            if isinstance(raw, bytes) and _read(raw):
                return raw


def _read(raw: bytes) -> bool:
    from viser._messages import Message

    try:
        return accept(Message.deserialize(raw))
    except Exception:  # bytes of a stranger: the decoder may raise anything
        return False


@contextmanager
def guard_server(guard: Guard) -> Iterator[None]:
    """Patch websockets: servers that start meanwhile ask ``guard``, because viser has no setting for it.

    Args:
        guard: Decides about requests.
    """
    server = importlib.import_module("websockets.asyncio.server")  # viser's own requirement
    plain = server.serve

    def serve(handler: Any, *args: Any, process_request: Any = None, **options: Any) -> Any:
        guard.active = True
        options |= {"max_size": LONGEST, "logger": _LOG}
        return plain(_guard_handler(handler), *args, process_request=_guard_requests(guard, process_request), **options)

    with _PATCH:
        server.serve = serve  # type: ignore[attr-defined]
        try:
            yield
        finally:
            server.serve = plain  # type: ignore[attr-defined]


def _guard_handler(handler: Any) -> Any:
    async def guarded(connection: Any) -> None:
        import viser

        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: _LOG.debug("%s", context.get("message")))
        if connection.subprotocol != f"viser-v{viser.__version__}":
            await connection.close(1002, "another version of the page: reload it")
            return
        await handler(GuardedConnection(connection))

    return guarded


def _guard_requests(guard: Guard, plain: Any) -> Any:
    def check(connection: Any, request: Any) -> Any:
        fault = guard.find_fault(request.path, request.headers)
        if fault is not None:
            return connection.respond(403, f"diffloom: {fault}\n")
        response = plain(connection, request) if plain is not None else None
        if response is not None:
            response.headers["Set-Cookie"] = guard.make_cookie(request.headers)
            response.headers["Referrer-Policy"] = "no-referrer"
            response.headers["X-Frame-Options"] = "SAMEORIGIN"
            response.headers["Cache-Control"] = "no-store"
        return response

    return check


def check_address(host: str, port: int) -> None:
    """Raise InputError if no page can be served at an address.

    Args:
        host: Address to serve.
        port: First port to try.
    """
    if not 0 <= port <= 65535:
        raise InputError(f"view: port {port}: expected a number from 0 to 65535")
    try:
        kind, *_, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(kind) as trial:
            trial.bind(place)
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"view: cannot serve at host {host!r} ({error}): expected an address of this machine; "
            "127.0.0.1 is this machine alone, 0.0.0.0 every address it has"
        ) from error
