"""Every page of the admin loads cleanly, from this server only, labelled and inside the window."""

from collections.abc import Iterator

import pytest

from tests.e2e.admin_browser import Admin

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

LISTS = (
    "tenants/tenant",
    "tenants/apikey",
    "tenants/qualitytier",
    "tts/voice",
    "models_registry/route",
    "models_registry/routeevent",
    "models_registry/speechmodel",
    "models_registry/modelversion",
    "auth/user",
    "auth/group",
    "auditlog/logentry",
    "django_celery_beat/periodictask",
)
WITHOUT_ADDING = {
    "models_registry/routeevent",
    "models_registry/modelversion",
    "auditlog/logentry",
}
TAB_LIMIT = 60

# Elements that reach over the right edge and are not clipped or scrolled by a parent.
OVERFLOWING = """() => {
  const width = document.documentElement.clientWidth;
  return [...document.querySelectorAll('#main *')].filter(element => {
    const box = element.getBoundingClientRect();
    if (!box.width || box.right <= width + 1) return false;
    for (let p = element.parentElement; p; p = p.parentElement)
      if (getComputedStyle(p).overflowX !== 'visible') return false;
    return true;
  }).map(element => element.tagName + '.' + element.className).slice(0, 3);
}"""
UNLABELLED = """() => [...document.querySelectorAll('#main input, #main select, #main textarea')]
  .filter(field => field.type !== 'hidden' && field.getClientRects().length
    && !field.labels.length && !field.ariaLabel && !field.title && !field.placeholder)
  .map(field => field.name || field.id)"""


@pytest.fixture(autouse=True)
def clean(admin: Admin) -> Iterator[None]:
    """Whatever a test does, the console stays empty."""
    admin.problems.clear()
    yield
    assert admin.problems == []


def look(admin: Admin, path: str) -> None:
    """What is asked of every page, in a wide and in a narrow window."""
    page = admin.open(path)
    assert "Voicehost" in page.title(), path
    assert page.locator("h1").first.inner_text().strip(), path
    assert page.evaluate(UNLABELLED) == [], path
    for width in (1300, 800):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(OVERFLOWING) == [], (path, width)


def test_overview_shows_counts_routes_and_the_living(admin: Admin) -> None:
    look(admin, "")
    shown = admin.message()
    for text in ("Active tenants", "Live API keys", "tts-1", "synthesizer", "READY", "Latest"):
        assert text in shown
    assert "no worker has it" not in shown
    admin.follow(admin.page.locator("#content").get_by_role("link", name="API documentation"))
    assert admin.page.url.endswith("/v1/docs")
    admin.page.get_by_text("/v1/models").first.wait_for()


@pytest.mark.parametrize("listed", LISTS)
def test_list_and_forms_are_clean(admin: Admin, listed: str) -> None:
    look(admin, f"{listed}/")
    first = admin.page.locator("#result_list tbody a").first.get_attribute("href")
    assert first is not None
    look(admin, first.removeprefix("/admin/"))
    if listed not in WITHOUT_ADDING:
        look(admin, f"{listed}/add/")


def test_platform_settings_open_at_once(admin: Admin) -> None:
    look(admin, "voicehost/platformsettings/")
    assert admin.page.get_by_label("List models and voices without a key").is_visible()


def test_sidebar_leads_everywhere(admin: Admin) -> None:
    page = admin.open("")
    page.set_viewport_size({"width": 1300, "height": 900})
    links = page.locator("#nav-sidebar-inner a[href^='/admin/']").all()
    found = {link.get_attribute("href") for link in links}
    assert {f"/admin/{listed}/" for listed in LISTS} <= found
    assert "/admin/voicehost/platformsettings/" in found


def test_dark_theme_is_dark(admin: Admin) -> None:
    page = admin.open("tenants/tenant/")
    page.emulate_media(color_scheme="dark")
    page.reload()
    colour = page.locator("#main").evaluate("element => getComputedStyle(element).backgroundColor")
    page.emulate_media(color_scheme="light")
    page.reload()
    light = page.locator("#main").evaluate("element => getComputedStyle(element).backgroundColor")
    assert colour != light == "rgb(255, 255, 255)"


def test_keyboard_alone_reaches_add_and_save(admin: Admin) -> None:
    page = admin.open("tenants/tenant/")
    page.set_viewport_size({"width": 1300, "height": 900})

    def tab_until(condition: str) -> None:
        for _ in range(TAB_LIMIT):
            page.keyboard.press("Tab")
            if page.evaluate(f"() => {{ const e = document.activeElement; return {condition}; }}"):
                return
        pytest.fail(f"the keyboard does not reach {condition}")

    tab_until("e.getAttribute('href')?.endsWith('/tenant/add/')")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.get_by_label("Name").focus()
    tab_until("e.name === '_save'")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "This field is required." in admin.message()
