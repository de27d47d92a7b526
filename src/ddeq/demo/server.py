"""The demo's HTTP: a page, its parts, and a few JSON calls.

Only requests of the page itself are served: the ``Host`` must be an address of this server, so that
a name that was bent to it does not count, and the ``Origin``, where there is one, must be the same.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ddeq.demo.checks import RefusedError, json_object
from ddeq.demo.engine import MAX_UPLOAD, Engine

__all__ = ["MAX_CONNECTIONS", "MAX_JSON", "DemoServer"]

MAX_CONNECTIONS = 32
"""Threads at once; a connection beyond is closed."""

MAX_JSON = 4 * 2**20
"""Bytes of a JSON request."""

_PARTS = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    **{
        f"/{name}.js": (f"{name}.js", "text/javascript")
        for name in (
            *("api", "charts", "choices", "classes", "cloud", "game"),
            *("page", "parts", "player", "saving", "scene", "share", "tools"),
        )
    },
}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_ANYWHERE = ("", "0.0.0.0", "::")
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_PATIENCE = 30  # seconds that a silent connection is kept
_DRAINED = 8 * MAX_UPLOAD


class DemoServer(ThreadingHTTPServer):
    """Serves the demo.

    Args:
        host: Address to listen at; one that is not of this machine alone opens it to the network.
        port: Port, 0 for any that is free.
        engine: What does the work.
    """

    def __init__(self, host: str, port: int, engine: Engine) -> None:
        self.engine = engine
        self.places = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self.open = host in _ANYWHERE
        self.name = f"[{host}]" if ":" in host else host
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Binds without looking up a name for the address, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.name, self.server_address[1]

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{'localhost' if self.open else self.name}:{self.server_port}/"

    def knows(self, host: str) -> bool:
        """Whether a ``Host`` header names this server."""
        name, colon, port = host.rpartition(":")
        if not colon or host.endswith("]"):
            name, port = host, "80"
        if port != str(self.server_port):
            return False
        return name in (*_LOCAL, self.name) or (self.open and _is_address(name))

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread per connection, as long as there are places."""
        if not self.places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serves a connection and frees its place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()

    def server_close(self) -> None:
        """Ends the engine's process too."""
        super().server_close()
        self.engine.reader.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke off is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: DemoServer
    server_version = "ddeq"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for what a person needs to know."""

    def _answer(self, work: Callable[[], None]) -> None:
        try:
            self._check_sender()
            work()
        except RefusedError as refusal:
            self._send_json({"error": str(refusal)}, refusal.status)
        except OSError:
            self.close_connection = True
        except Exception as error:
            name = type(error).__name__
            print(f"ddeq: {name}: {' '.join(str(error).split())}", file=sys.stderr)
            self._send_json({"error": f"Something went wrong in the server ({name})."}, 500)

    def _check_sender(self) -> None:
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if not self.server.knows(host) or origin not in (None, f"http://{host}"):
            self.close_connection = True
            raise RefusedError("This demo answers its own page only.", 403)

    def _get(self) -> None:
        path = urlsplit(self.path).path
        if path == "/api/health":
            self._send_json({"status": "ok"})
            return
        if path == "/api/about":
            self._send_json(self.server.engine.about())
            return
        if path not in _PARTS:
            raise RefusedError("There is nothing here.", 404)
        name, kind = _PARTS[path]
        body = files("ddeq.demo").joinpath(name).read_bytes()
        self._send(body, f"{kind}; charset=utf-8")

    def _post(self) -> None:
        engine, url = self.server.engine, urlsplit(self.path)
        if url.path == "/api/upload":
            body = self._body("application/octet-stream", MAX_UPLOAD)
            name = parse_qs(url.query).get("name", [""])[0]
            self._send_json(engine.upload(body, name))
            return
        written = {"/api/download": engine.download, "/api/film": engine.film}
        if url.path in written:
            request = json_object(self._body("application/json", MAX_JSON))
            data, name = written[url.path](request)
            disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
            self._send(data, "application/octet-stream", headers=disposition)
            return
        calls = {
            "/api/sample": engine.sample,
            "/api/draw": engine.draw,
            "/api/cut": engine.cut,
            "/api/classify": engine.classify,
            "/api/complete": engine.complete,
        }
        body = self._body("application/json", MAX_JSON)
        if url.path not in calls:
            raise RefusedError("There is nothing here.", 404)
        self._send_json(calls[url.path](json_object(body)))

    def _body(self, kind: str, limit: int) -> bytes:
        """What was sent; another page could not send this kind without asking first."""
        try:
            length = int(self.headers["Content-Length"])
        except (TypeError, ValueError):
            self.close_connection = True
            raise RefusedError("The request does not say how long it is.", 411) from None
        if not 0 <= length <= limit:
            self._drain(length)
            raise RefusedError(f"This is too large: at most {limit // 2**20} MB.", 413)
        body = self.rfile.read(length)
        if self.headers.get_content_type() != kind:
            raise RefusedError(f"The request must be {kind}.", 415)
        return body

    def _drain(self, length: int) -> None:
        """Reads what is refused, within reason: who still sends would not hear the answer."""
        self.close_connection = True
        left = min(length, _DRAINED)
        while left > 0:
            piece = self.rfile.read(min(left, 2**16))
            if not piece:
                return
            left -= len(piece)

    def _send_json(self, value: dict[str, Any], status: int = 200) -> None:
        self._send(json.dumps(value, allow_nan=False).encode(), "application/json", status)

    def _send(
        self, body: bytes, kind: str, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        try:
            self.send_response(status)
            for name, value in {**_HEADERS, **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
