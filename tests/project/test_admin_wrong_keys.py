"""No list, form, button or address of the admin fails on a key that no row can have."""

from typing import Any
from urllib.parse import quote

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.forms import ModelChoiceField
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django.fixtures import Settings

from tenants.models import Tenant

WRONG = ["zzz", "\0", "-" + "9" * 30]
ROOT_ID = 77
NO_ROW = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def client(db: None, settings: Settings) -> Client:
    settings.WHITENOISE_AUTOREFRESH = True  # there are no collected static files
    root = User.objects.create_superuser("root", password="x", id=ROOT_ID)
    client = Client()
    client.force_login(root)
    return client


every_admin = pytest.mark.parametrize(
    "options",
    [pytest.param(options, id=options.opts.label) for options in admin.site._registry.values()],
)


def asked(path: str) -> HttpRequest:
    request = RequestFactory().get(path)
    request.user = User.objects.get(pk=ROOT_ID)
    return request


def page(options: Any, name: str, *args: object) -> str:
    return reverse(f"admin:{options.opts.app_label}_{options.opts.model_name}_{name}", args=args)


@every_admin
def test_a_list_refuses_to_act_on_it(client: Client, options: Any) -> None:
    path = page(options, "changelist")
    for action in options.get_actions(asked(path)):
        for wrong in WRONG:
            data = {"action": action, "_selected_action": [wrong], "post": "yes", "confirmed": "1"}
            assert client.post(path, data).status_code == 400, (action, wrong)
    assert User.objects.filter(pk=ROOT_ID).exists()


@every_admin
def test_a_list_filters_by_none(client: Client, options: Any) -> None:
    path = page(options, "changelist")
    names = ["id__in", "pk__exact", "q", "p"]
    for item in options.get_list_filter(asked(path)):
        field = item[0] if isinstance(item, tuple) else item
        if isinstance(field, str):
            names += [field, f"{field}__exact", f"{field}__in", f"{field}__id__exact"]
        else:
            names.append(field.parameter_name)
    if options.date_hierarchy:
        names.append(f"{options.date_hierarchy}__year")
    for name in names:
        for wrong in WRONG:
            # 302 leads to the whole list.
            assert client.get(path, {name: wrong}).status_code in {200, 302}, (name, wrong)


@every_admin
def test_a_form_tells_it(client: Client, options: Any) -> None:
    request = asked("/")
    if not options.has_add_permission(request):
        assert client.post(page(options, "add")).status_code in {302, 403}
        return
    fields = options.get_form(request)().fields
    chosen = [name for name, field in fields.items() if isinstance(field, ModelChoiceField)]
    for wrong in WRONG:
        # Names that are free text may well be right.
        answer = client.post(page(options, "add"), dict.fromkeys(fields, wrong))
        assert answer.status_code in {200, 302}, wrong
        for name in chosen:
            assert name in answer.context["adminform"].form.errors, (name, wrong)
        filled_in = client.get(page(options, "add"), dict.fromkeys(fields, wrong))
        assert filled_in.status_code == 200, wrong


@every_admin
def test_an_inline_tells_it(client: Client, options: Any) -> None:
    request = asked("/")
    if not options.has_add_permission(request):
        return
    for inline in options.get_inline_instances(request):
        formset = inline.get_formset(request)
        prefix = formset.get_default_prefix()
        names = [f"{prefix}-0-{name}" for name in (*formset.form.base_fields, "id")]
        for wrong in WRONG:
            data = {f"{prefix}-TOTAL_FORMS": "1", f"{prefix}-INITIAL_FORMS": "0"}
            answer = client.post(page(options, "add"), data | dict.fromkeys(names, wrong))
            assert answer.status_code == 200, wrong


@every_admin
def test_an_address_leads_back(client: Client, options: Any) -> None:
    buttons = [item.path for item in options.get_actions_detail(asked("/"), None)]
    for path in ("change/", "delete/", "history/", *(f"{button}/" for button in buttons)):
        for wrong in (*WRONG, NO_ROW):
            address = f"{page(options, 'changelist')}{quote(wrong)}/{path}"
            assert client.get(address).status_code in {302, 403, 404}, address
            assert client.post(address, {"confirmed": "1"}).status_code in {302, 403, 404}, address


def test_a_row_that_is_there_is_still_chosen(client: Client) -> None:
    group = Group.objects.create(name="interns")
    path = reverse("admin:auth_group_changelist")
    data = {"action": "delete_selected", "_selected_action": [str(group.pk)], "post": "yes"}
    assert client.post(path, data).status_code == 302
    assert not Group.objects.filter(pk=group.pk).exists()
    tenant = Tenant.objects.create(name="Acme", slug="acme")
    shown = client.get(reverse("admin:tenants_apikey_add"), {"tenant": str(tenant.pk)})
    assert f'value="{tenant.pk}" selected' in shown.content.decode()


def test_nothing_is_found_by_what_no_text_has(client: Client) -> None:
    Tenant.objects.create(name="Acme", slug="acme")
    where = {"app_label": "tenants", "model_name": "apikey", "field_name": "tenant"}
    found = client.get(reverse("admin:autocomplete"), where | {"term": "\0"})
    assert found.json()["results"] == []


def test_choices_that_are_searched_come_in_order(client: Client) -> None:
    for name in ("b", "c", "a"):
        Tenant.objects.create(name=name, slug=name)
    found = client.get(
        reverse("admin:autocomplete"),
        {"app_label": "tenants", "model_name": "apikey", "field_name": "tenant", "term": ""},
    )
    assert [row["text"] for row in found.json()["results"]] == ["a", "b", "c"]
