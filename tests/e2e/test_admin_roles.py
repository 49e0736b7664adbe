"""Each role sees everything and changes its part, over HTTP with sessions of its own."""

import secrets
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

import httpx
import pytest

from tests.e2e.platform import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

ROLES = ("viewer", "operator", "tenant manager", "owner")
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
    "voicehost/platformsettings",
    "django_celery_beat/periodictask",
)
MAY_CHANGE = {
    "tenants/tenant": {"tenant manager", "owner"},
    "tenants/apikey": {"tenant manager", "owner"},
    "tenants/qualitytier": {"owner"},
    "tts/voice": {"operator", "owner"},
    "models_registry/route": {"operator", "owner"},
    "models_registry/modelversion": {"operator", "owner"},
    "auth/user": {"owner"},
    "voicehost/platformsettings": {"owner"},
    "models_registry/routeevent": set(),
    "auditlog/logentry": set(),
}
"""Who may change the first row of each list, or of users one who is nobody special."""

MAKE_USERS = """
from django.contrib.auth.models import Group, User
from django.contrib.auth.hashers import make_password
User.objects.create(username="ordinary-user")
for role in {roles!r}:
    user = User.objects.create(
        username=role.replace(" ", "-"), is_staff=True, password=make_password({password!r}))
    user.groups.add(Group.objects.get(name=role))
"""


class Form(HTMLParser):
    """What a page's first POST form would send, and the links of the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: dict[str, str | list[str]] = {}
        self.links: list[str] = []
        self.can_save = False
        self._select = self._text = ""
        self.feed(page)

    def text(self, name: str) -> str:
        """The value of a field that has one."""
        value = self.fields[name]
        assert isinstance(value, str)
        return value

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        name = found.get("name", "")
        if tag == "a":
            self.links.append(found.get("href", ""))
        elif tag == "button" and name == "_save":
            self.can_save = True
        elif tag == "select":
            self._select = name
        elif tag == "option" and "selected" in found:
            self.fields[self._select] = found["value"]
        elif tag == "textarea":
            self._text = name
        elif tag == "input" and name:
            box = found.get("type") in ("checkbox", "radio")
            if not box:
                self.fields[name] = found.get("value", "")
            elif "checked" in found:
                # Boxes of one name are one field with several values.
                checked = self.fields.setdefault(name, [])
                assert isinstance(checked, list)
                checked.append(found.get("value", "on"))

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self.fields.setdefault(self._text, "")
            self._text = ""

    def handle_data(self, data: str) -> None:
        if self._text:
            so_far = self.fields.get(self._text, "")
            self.fields[self._text] = f"{so_far}{data.removeprefix(chr(10))}"


class Session:
    """Somebody signed in."""

    def __init__(self, platform: Platform, name: str, password: str) -> None:
        self.client = httpx.Client(base_url=f"{platform.url}/admin/", timeout=30)
        form = Form(self.client.get("login/").text)
        data = form.fields | {"username": name, "password": password, "next": "/admin/"}
        answer = self.client.post("login/", data=data)
        assert answer.status_code == 302, "not signed in"

    def page(self, path: str) -> Form:
        """The page, which must be shown."""
        answer = self.client.get(path, follow_redirects=True)
        assert answer.status_code == 200, path
        return Form(answer.text)

    def first(self, listed: str) -> str:
        """The path of the first row of a list that a role may touch."""
        if listed == "voicehost/platformsettings":
            return f"{listed}/1/change/"
        query = "?q=ordinary-user" if listed == "auth/user" else ""
        links = self.page(f"{listed}/{query}").links
        prefix = f"/admin/{listed}/"
        rows = [link for link in links if link.startswith(prefix) and "/change/" in link]
        return rows[0].split("?")[0].removeprefix("/admin/")

    def store(self, path: str, **changes: str) -> httpx.Response:
        """Save the page as it is, but for `changes`."""
        fields = self.page(path).fields
        token = self.client.cookies["csrftoken"]
        return self.client.post(path, data={"csrfmiddlewaretoken": token} | fields | changes)


@pytest.fixture(scope="module")
def signed_in(platform: Platform) -> Iterator[Callable[[str], Session]]:
    """A session of each role, made when first asked for."""
    password = secrets.token_urlsafe(12)
    platform.manage("shell", "-v", "0", "-c", MAKE_USERS.format(roles=ROLES, password=password))
    sessions: dict[str, Session] = {}

    def sign_in(role: str) -> Session:
        if role not in sessions:
            sessions[role] = Session(platform, role.replace(" ", "-"), password)
        return sessions[role]

    yield sign_in
    for session in sessions.values():
        session.client.close()


@pytest.mark.parametrize("role", ROLES)
def test_role_sees_everything(signed_in: Callable[[str], Session], role: str) -> None:
    session = signed_in(role)
    overview = session.page("").links
    for listed in LISTS:
        assert f"/admin/{listed}/" in overview
        session.page(f"{listed}/")


@pytest.mark.parametrize("listed", MAY_CHANGE)
def test_role_changes_its_part_only(signed_in: Callable[[str], Session], listed: str) -> None:
    for role in ROLES:
        session = signed_in(role)
        path = session.first(listed)
        may = role in MAY_CHANGE[listed]
        assert session.page(path).can_save is may, (role, listed)
        answer = session.store(path)
        assert answer.status_code == (302 if may else 403), (role, listed, answer.text[-500:])


def test_role_change_is_logged_with_its_name(signed_in: Callable[[str], Session]) -> None:
    operator, manager = signed_in("operator"), signed_in("tenant manager")
    route = operator.first("models_registry/route")
    before = operator.page(route).text("description")
    assert operator.store(route, description="By the operator.").status_code == 302
    assert operator.store(route, description=before).status_code == 302
    tenant = manager.first("tenants/tenant")
    name = manager.page(tenant).text("name")
    assert manager.store(tenant, name=f"{name}!").status_code == 302
    assert manager.store(tenant, name=name).status_code == 302
    log = operator.client.get("auditlog/logentry/").text
    assert "By the operator." in log
    for user in ("operator", "tenant-manager"):
        assert f">{user}<" in "".join(log.split())


def test_stranger_sees_the_sign_in_page_only(platform: Platform) -> None:
    with httpx.Client(base_url=f"{platform.url}/admin/") as client:
        for listed in ("", *(f"{listed}/" for listed in LISTS)):
            answer = client.get(listed)
            assert answer.status_code == 302
            assert answer.headers["location"].startswith("/admin/login/")
        form = Form(client.get("login/").text)
        data = form.fields | {"username": "admin", "password": "guess"}
        answer = client.post("login/", data=data)
        assert answer.status_code == 200
        assert "Please enter the correct username and password" in answer.text
        # A forged form of another site carries no token of ours.
        forged = client.post("login/", data={"username": "admin", "password": "guess"})
        assert forged.status_code == 403
