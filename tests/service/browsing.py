"""Chromium for tests of the page, and what must hold on every page that is opened."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page, Playwright, ViewportSize

GIVEN = "EVENHAND_CHROMIUM"  # the path of a Chromium
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
INSTALL = (sys.executable, "-m", "playwright", "install", "--with-deps", "chromium")
INSTALLING = 300.0  # seconds
WINDOW: ViewportSize = {"width": 1280, "height": 900}
#: Keeps what the policy of the page has refused, where tests can read it.
WATCH = """window.refused = [];
document.addEventListener('securitypolicyviolation', (event) => window.refused.push(event.violatedDirective));"""


def chromium(playwright: Playwright) -> str:
    """The path of a Chromium; installs Playwright's where there is none."""
    path = os.environ.get(GIVEN)
    if path:
        return path
    for program in PROGRAMS:
        path = shutil.which(program)
        if path is not None:
            return path
    own = playwright.chromium.executable_path
    if not Path(own).exists():
        _install()
    return own


def _install() -> None:
    remedy = f"install Debian's (apt-get install chromium), or name one in {GIVEN}"
    try:
        done = subprocess.run(
            INSTALL, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALLING, check=False
        )
    except subprocess.TimeoutExpired:
        raise AssertionError(f"there is no Chromium, and installing one took too long; {remedy}") from None
    said = done.stdout + done.stderr
    if done.returncode:
        raise AssertionError(f"there is no Chromium, and it could not be installed; {remedy}:\n{said[-2000:]}")


@dataclass
class Visit:
    """A page in a browser, and what went on.

    Attributes:
        page: the page.
        url: of the server.
        pardoned: patterns of console errors that belong to the test, such as those of a server that is away.
        asked: addresses of all requests.
        errors: on the console, and uncaught.
    """

    page: Page
    url: str
    pardoned: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def open(self, name: str | None = None) -> Page:
        """Go to the list, or to an allocation, and wait until it is shown."""
        self.page.goto(self.url + ("/" if name is None else f"/#/allocations/{name}"))
        self.page.get_by_role("heading", level=1, name="Allocations" if name is None else name, exact=True).wait_for()
        self.page.get_by_text("Loading…").wait_for(state="detached")
        self.page.get_by_text("Live", exact=True).wait_for()
        return self.page

    def check(self) -> None:
        """Nothing went wrong, and nobody else was asked."""
        foreign = [url for url in self.requests if not url.startswith(self.url + "/")]
        assert not foreign, f"requests to others: {foreign}"
        errors = [error for error in self.errors if not any(re.search(known, error) for known in self.pardoned)]
        assert not errors, f"errors on the page: {errors}"
        assert self.page.evaluate("window.refused") == [], "the policy of the page refused something"


@contextmanager
def visit(browser: Browser, url: str, **context: Any) -> Iterator[Visit]:
    """A page of its own, with an empty storage; what must always hold is checked at the end."""
    with page_of(browser, **context) as page, watched(page, url) as visit:
        yield visit


@contextmanager
def visit_again(
    page: Page, url: str, viewport: ViewportSize = WINDOW, color_scheme: Literal["light", "dark"] = "light"
) -> Iterator[Visit]:
    """As `visit`, in a page that others have used: it has read the scripts already, which takes most of the work."""
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=color_scheme)
    try:
        with watched(page, url) as visit:
            yield visit
    finally:
        for other in page.context.pages:
            if other is not page:
                other.close()
        try:
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
        finally:
            page.goto("about:blank")  # nothing of this visit goes on


@contextmanager
def page_of(browser: Browser, **context: Any) -> Iterator[Page]:
    """A page of its own."""
    around = browser.new_context(**{"viewport": WINDOW, "locale": "en-GB"} | context)
    try:
        page = around.new_page()
        page.add_init_script(WATCH)
        yield page
    finally:
        around.close()


@contextmanager
def watched(page: Page, url: str) -> Iterator[Visit]:
    """A visit of a page; what must always hold is checked at the end."""
    visit = Visit(page, url)
    heard: dict[Any, Any] = {
        "request": lambda request: visit.requests.append(request.url),
        "pageerror": lambda error: visit.errors.append(str(error)),
        "console": lambda said: visit.errors.append(said.text) if said.type in ("error", "warning") else None,
    }
    for event, listener in heard.items():
        page.on(event, listener)
    try:
        yield visit
        visit.check()
    finally:
        for one in page.context.pages:
            one.unroute_all(behavior="ignoreErrors")  # a request may be on its way
        for event, listener in heard.items():
            page.remove_listener(event, listener)
