"""What an administrator changes in the browser is in force at once, and in the audit log."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.admin_browser import Admin, in_force, speak
from tests.e2e.platform import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

SECRET = re.compile(r"vh_[a-z0-9]{8}_[\w-]{43}")
LOG_SLACK = timedelta(minutes=2)


# The demo key has sixty requests a minute, which other tests want, too.
WIDE_KEY = """
from tenants.models import QualityTier
from tenants.services import api_key_issue, tenant_create, tier_create
wide = {"concurrency": 100, "requests_per_minute": 10**6, "characters_per_minute": 10**7}
tier = tier_create(name="browser-wide", rank=900, priority="realtime", profile="realtime",
                   max_characters=1000, max_queue_seconds=30.0, **wide)
print(api_key_issue(tenant=tenant_create(name="Wide", **wide), tier=tier)[1])
"""


@pytest.fixture(scope="module")
def wide_key(platform: Platform) -> str:
    """A key without limits that a test could reach."""
    return platform.manage("shell", "-v", "0", "-c", WIDE_KEY).split()[-1]


@pytest.fixture(autouse=True)
def clean(admin: Admin) -> Iterator[None]:
    """Whatever a test does, the console stays empty."""
    admin.problems.clear()
    yield
    assert admin.problems == []


def logged(admin: Admin, name: str, thing: str, action: str, change: str = "") -> None:
    """The audit log's newest entry for `name` is this, by the administrator, just now."""
    entry = admin.latest_change(name)
    assert (entry["Who"], entry["Thing"], entry["Action"].lower()) == ("admin", thing, action)
    assert change in entry["Changes"]
    at = datetime.strptime(entry["When"], "%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC)
    assert abs(datetime.now(UTC) - at) < LOG_SLACK


def fill(admin: Admin, **fields: str) -> None:
    """Type into fields by name."""
    for name, value in fields.items():
        admin.page.locator(f"[name={name}]").fill(value)


def make_tier(admin: Admin, name: str, rank: str) -> None:
    """A wide tier of its own, so that no other test's limits are touched."""
    admin.open("tenants/qualitytier/add/")
    fill(
        admin, name=name, rank=rank, concurrency="10", requests_per_minute="10000",
        characters_per_minute="100000", max_characters="5000", max_queue_seconds="20",
    )  # fmt: skip
    admin.page.get_by_label("Priority").select_option("realtime")
    admin.page.get_by_label("Profile").select_option("realtime")
    admin.save()


def make_tenant(admin: Admin, name: str) -> None:
    admin.open("tenants/tenant/add/")
    admin.page.get_by_label("Name").press_sequentially(name)
    assert admin.page.get_by_label("Slug").input_value() == name.lower()
    admin.save()


def issue_key(admin: Admin, tenant: str, tier: str, name: str) -> str:
    """Issue a key in the browser; returns the secret that is shown."""
    page = admin.open("tenants/apikey/add/")
    page.locator(".field-tenant .select2-selection").click()
    page.locator(".select2-search__field").fill(tenant)
    page.locator(".select2-results__option", has_text=tenant).first.click()
    fill(admin, name=name)
    page.get_by_label("Tier").select_option(label=tier)
    admin.save()
    found = SECRET.findall(page.content())
    assert len(found) == 1, admin.message()
    return str(found[0])


def test_key_is_shown_once_works_at_once_and_is_revoked(admin: Admin) -> None:
    make_tenant(admin, "Browser")
    logged(admin, "Browser", "Tenant", "create")
    secret = issue_key(admin, "Browser", "standard", "shop")
    assert speak(admin.platform, secret).status_code == 200
    prefix = secret[:11]
    page = admin.page
    admin.follow(page.get_by_role("link", name="I have copied it"))
    admin.follow(page.get_by_role("link", name=prefix))
    seen = page.content()
    admin.follow(page.locator("#main").get_by_role("link", name="History"))
    seen += page.content()
    assert prefix in seen
    assert secret not in seen
    logged(admin, prefix, "API key", "create")

    admin.find("tenants/apikey", prefix)
    admin.follow(page.get_by_role("link", name="Revoke"))
    page.get_by_role("heading", name="Revoke this key?").wait_for()
    admin.follow(page.get_by_role("link", name="Cancel"))
    assert speak(admin.platform, secret).status_code == 200
    admin.find("tenants/apikey", prefix)
    admin.follow(page.get_by_role("link", name="Revoke"))
    admin.follow(page.get_by_role("button", name="Revoke"))
    in_force(lambda: speak(admin.platform, secret).status_code, 401)
    assert f"The key {prefix} is revoked." in page.content()
    assert (
        "REVOKED" in admin.open(f"tenants/apikey/?q={prefix}").locator("#result_list").inner_text()
    )
    assert admin.find("tenants/apikey", prefix).get_by_role("link", name="Revoke").count() == 0
    logged(admin, prefix, "API key", "update", "Revoked at: – →")


def test_limit_of_a_tier_is_in_force_at_once(admin: Admin) -> None:
    make_tier(admin, "browser-tier", "901")
    make_tenant(admin, "Limited")
    secret = issue_key(admin, "Limited", "browser-tier", "limited")
    assert speak(admin.platform, secret).status_code == 200
    admin.find("tenants/qualitytier", "browser-tier")
    fill(admin, characters_per_minute="0")
    admin.save()
    assert "characters_per_minute must be from 1" in admin.message()
    fill(admin, characters_per_minute="1")
    admin.save()
    in_force(lambda: speak(admin.platform, secret).status_code, 429)
    logged(admin, "browser-tier", "Quality tier", "update", "per minute: 100000 → 1")


def test_split_of_a_route_is_checked_and_in_force_at_once(admin: Admin, wide_key: str) -> None:
    page = admin.open("models_registry/route/add/")
    fill(admin, name="browser-route")
    page.get_by_role("link", name="Add another Version").click()
    page.locator("[name=weights-0-version]").select_option(label="tone@1")
    fill(admin, **{"weights-0-weight": "100"})
    admin.save()

    def version() -> str:
        fields = {"model": "browser-route", "voice": "alloy"}
        answer = speak(admin.platform, wide_key, **fields)
        return str(answer.headers.get("X-Model-Version", answer.text))

    try:
        in_force(version, "tone@1")
        admin.find("models_registry/route", "browser-route")
        fill(admin, **{"weights-0-weight": "0"})
        admin.save()
        assert "At least one version needs a weight above 0." in admin.message()
        page.get_by_role("link", name="Add another Version").click()
        page.locator("[name=weights-1-version]").select_option(label="kokoro@1.0")
        fill(admin, **{"weights-1-weight": "10001"})
        admin.save()
        assert "less than or equal to 10000" in admin.message()
        fill(admin, **{"weights-1-weight": "100", "note": "to the better voice"})
        admin.save()
        in_force(version, "kokoro@1.0")
        logged(admin, "kokoro@1.0=100", "Weight", "create")
        logged(admin, "tone@1=0", "Weight", "update", "Weight: 100 → 0")
        row = admin.open("models_registry/routeevent/?q=browser-route").locator("tbody tr").first
        assert "kokoro@1.0 100 %" in row.inner_text()
        assert "to the better voice" in row.inner_text()
        assert "admin" in row.inner_text()
        admin.find("models_registry/route", "browser-route")
        page.get_by_role("link", name="Roll back").click()
        admin.follow(page.get_by_role("button", name="Roll back"))
        in_force(version, "tone@1")
        page.get_by_text("browser-route is back to tone@1 100 %.").wait_for()
    finally:
        admin.find("models_registry/route", "browser-route")
        admin.follow(page.get_by_role("link", name="Delete route"))
        admin.follow(page.get_by_role("button", name="Yes, I’m sure"))
    in_force(lambda: "model_not_found" in version(), True)


def test_batching_of_a_version_is_in_force_at_once(admin: Admin) -> None:
    def slots_shown() -> int:
        found = re.search(r"of (\d+)\b", admin.open("").locator("#content").inner_text())
        assert found is not None
        return int(found[1])

    def store(slots: str, batch: str) -> None:
        admin.find("models_registry/modelversion", "tone@1")
        fill(admin, max_slots=slots, max_batch=batch)
        admin.save()

    before = slots_shown()
    store("511", "512")
    assert "max_batch must be 1 to 511 utterances (the slots), not 512" in admin.message()
    store("511", "511")
    try:
        # One slot less in each engine of the version, and it has one for each profile in use.
        in_force(lambda: 1 <= before - slots_shown() <= 3, True, look_seconds=2.0)
        logged(admin, "tone@1", "Version", "update", "Max slots: 512 → 511")
    finally:
        store("512", "512")


def test_voice_that_is_switched_off_is_not_found(admin: Admin, wide_key: str) -> None:
    page = admin.open("tts/voice/add/")
    fill(
        admin, name="browser-voice", display_name="Browser", engine="tone", speaker="tone-a",
        languages="en",
    )  # fmt: skip
    admin.save()

    def status() -> int:
        return speak(admin.platform, wide_key, voice="browser-voice").status_code

    in_force(status, 200)
    admin.find("tts/voice", "browser-voice")
    page.get_by_label("Active").uncheck()
    admin.save()
    in_force(status, 404)
    logged(admin, "browser-voice", "Voice", "update", "Active: True → False")
