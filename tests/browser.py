"""A headless Chromium and a server that stores what pages post, for tests of pages."""

import contextlib
import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-gpu",
]


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """A browser; skips the test if Chromium is not installed."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium is not there; install the program chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Site:
    """Serve one page at / with its policy as a header; accept and store records at /records."""

    def __init__(self) -> None:
        self.page, self.policy = "", ""
        self.posted: list[dict[str, Any]] = []
        self.answers: list[tuple[int, dict[str, Any]]] = []  # sent in this order before accepting
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._give(200 if self.path == "/" else 404, "text/html; charset=utf-8", site.page)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = site.answers.pop(0) if site.answers else (201, {"id": "receipt-7"})
                if status == 201:
                    site.posted.append(body)
                self._give(status, "application/json", json.dumps(answer))

            def _give(self, status: int, kind: str, text: str) -> None:
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                if site.policy:
                    self.send_header("Content-Security-Policy", site.policy)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


@contextlib.contextmanager
def serving() -> Iterator[Site]:
    """Run a site on a free port of this machine while the block runs."""
    site = Site()
    thread = threading.Thread(target=site.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.server.shutdown()
        site.server.server_close()
        thread.join()


class Watched:
    """A browser page with its requests, errors, warnings and dialogs."""

    def __init__(self, context: Any) -> None:
        self.page = context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda r: self.requests.append(f"{r.method} {r.url} {r.headers} {r.post_data or ''}"))
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
