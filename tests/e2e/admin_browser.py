"""The admin in a real browser: Debian's chromium, driven by Playwright."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    Response,
    sync_playwright,
)

from tests.e2e.platform import Platform
from tests.requirement import program

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
ANSWER_MS = 30_000
IN_FORCE_SECONDS = 1.0 + 1.5
"""A change is in force within a second; two busy cores add the rest."""


@contextmanager
def browser_running() -> Iterator[Browser]:
    """A browser without a window.

    Playwright holds the thread's event loop until the block ends: no asynchronous
    test may run meanwhile.
    """
    path = program("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


class Admin:
    """Somebody signed in to the admin; `problems` is what a browser's console would show."""

    def __init__(self, browser: Browser, platform: Platform, **options: Any) -> None:
        self.platform = platform
        self.problems: list[str] = []
        context = browser.new_context(
            base_url=platform.url, viewport={"width": 1300, "height": 900}, **options
        )
        context.set_default_timeout(ANSWER_MS)
        self.page: Page = context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("request", self._request)
        self.page.on("response", self._response)

    def sign_in(self, name: str, password: str) -> None:
        """Sign in with the keyboard alone."""
        self.page.goto("/admin/")
        self.page.get_by_label("Username").focus()
        self.page.keyboard.type(name)
        self.page.keyboard.press("Tab")
        self.page.keyboard.type(password)
        self.page.keyboard.press("Enter")
        self.page.get_by_role("heading", name="Overview").wait_for()

    def open(self, path: str) -> Page:
        """The page at `path` below /admin/."""
        self.page.goto(f"/admin/{path}")
        return self.page

    def save(self) -> None:
        """Press Save, and wait for the page that answers."""
        self.follow(self.page.get_by_role("button", name="Save", exact=True))

    def follow(self, link: Locator) -> None:
        """Press a link or button, and wait for the page that answers."""
        with self.page.expect_navigation():
            link.click()

    def find(self, listed: str, name: str) -> Page:
        """Search the list `listed` for `name` and open what is found."""
        self.open(f"{listed}/?q={name}")
        self.follow(self.page.locator("#result_list tbody a").filter(has_text=name).first)
        return self.page

    def message(self) -> str:
        """What the page says on top."""
        return self.page.locator("#content").inner_text()

    def latest_change(self, name: str) -> dict[str, str]:
        """The newest entry of the audit log for `name`: column to text."""
        self.open(f"auditlog/logentry/?q={name}")
        cells = self.page.locator("#result_list tbody tr").first.locator("th, td").all()
        return {
            (cell.get_attribute("data-label") or "").strip(): cell.inner_text() for cell in cells
        }

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.type} on {self.page.url}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.platform.url, "data:", "blob:")):
            self.problems.append(f"request to {request.url} from {self.page.url}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.problems.append(f"{response.status} for {response.url}")


def speak(platform: Platform, key: str, **fields: str) -> httpx.Response:
    """Ask the API for a word in tones."""
    body = {"model": "tone", "voice": "tone-a", "input": "hi there", "response_format": "pcm"}
    return httpx.post(
        f"{platform.url}/v1/audio/speech",
        headers={"Authorization": f"Bearer {key}"},
        json=body | fields,
        timeout=ANSWER_MS / 1000,
    )


def in_force(look: Callable[[], object], wanted: object, *, look_seconds: float = 0.0) -> None:
    """Look until `wanted` is seen; fail when that takes longer than is promised.

    `look_seconds` is for what a look itself takes.
    """
    deadline = time.monotonic() + IN_FORCE_SECONDS + look_seconds
    while (seen := look()) != wanted:
        assert time.monotonic() < deadline, f"not in force: {seen!r} and not {wanted!r}"
        time.sleep(0.05)
