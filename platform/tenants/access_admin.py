"""Users and roles in the admin's own look."""

# Unfold carries no types.
# mypy: disallow-subclassing-any=False, disallow-untyped-decorators=False

from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from tenants.roles import ROLES

admin.site.unregister(User)
admin.site.unregister(Group)


class UserForm(UserChangeForm):
    """A user; a superuser keeps what lets him into this form."""

    editor: User | None = None

    def clean(self) -> Any:
        """Refuse to lock oneself out: so one superuser is always left."""
        cleaned = super().clean()
        own = self.editor is not None and self.editor.pk == self.instance.pk
        if own and self.instance.is_superuser:
            for name in ("is_active", "is_staff", "is_superuser"):
                if name in self.fields and not self.cleaned_data.get(name):
                    self.add_error(name, "You would lock yourself out: ask another superuser.")
        return cleaned


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Users; what they may do comes from roles, and only a superuser makes superusers."""

    form = UserForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = (
        "username", "email", "roles", "is_active", "is_staff", "is_superuser", "last_login",
    )  # fmt: skip
    list_filter = ("groups", "is_active", "is_staff", "is_superuser")
    list_filter_submit = True
    search_help_text = "User name, name or e-mail"
    readonly_fields = ("last_login", "date_joined")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "email")}),
        ("Access", {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
        ("Record", {"fields": ("last_login", "date_joined")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """With their roles."""
        return super().get_queryset(request).prefetch_related("groups")

    @display(description="Roles")
    def roles(self, user: User) -> str:
        """The names of the user's groups."""
        return ", ".join(group.name for group in user.groups.all()) or "–"

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Roles are few: check boxes."""
        field = super().formfield_for_manytomany(db_field, request, **kwargs)
        if field is not None and db_field.name == "groups":
            field.widget = UnfoldAdminCheckboxSelectMultipleWidget(choices=field.choices)
            field.label = "Roles"
            field.help_text = "The user may do what any of them allows."
        return field

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Keep `is_superuser` out of the hands of other roles."""
        fixed = super().get_readonly_fields(request, obj)
        return fixed if request.user.is_superuser else (*fixed, "is_superuser")

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """The form knows who fills it in."""
        form = super().get_form(request, obj, change=change, **kwargs)
        return type(form.__name__, (form,), {"editor": request.user})

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A superuser (their password, too) is changed by superusers only."""
        if obj is not None and obj.is_superuser and not request.user.is_superuser:
            return False
        return bool(super().has_change_permission(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As for changes; a superuser is deleted by another one, so that one is always left."""
        if obj is not None and obj.is_superuser and obj.pk == request.user.pk:
            return False
        if obj is not None and obj.is_superuser and not request.user.is_superuser:
            return False
        return bool(super().has_delete_permission(request, obj))


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    """The four roles, which every start brings back to their definition, and further groups."""

    list_display = ("name", "members", "is_built_in")
    search_help_text = "Name"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Group]:
        """With the number of their members."""
        found = super().get_queryset(request)
        return cast("QuerySet[Group]", found.annotate(member_count=Count("user")))

    @display(description="Users", ordering="member_count")
    def members(self, group: Any) -> int:
        """How many users have it."""
        return int(group.member_count)

    @display(description="Built in", boolean=True)
    def is_built_in(self, group: Group) -> bool:
        """Whether its permissions are fixed."""
        return group.name in ROLES

    @display(description="May")
    def allowed(self, group: Group) -> Any:
        """What a built-in role may do, an app a line."""
        allowed: dict[str, list[str]] = {}
        for permission in group.permissions.select_related("content_type"):
            app = permission.content_type.app_labeled_name.split(" | ")[0]
            allowed.setdefault(app, []).append(permission.name.removeprefix("Can "))
        rows = ((app, ", ".join(names)) for app, names in allowed.items())
        return format_html_join("", '<p class="mb-2"><strong>{}</strong>: {}</p>', rows)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """A built-in role is shown in words."""
        fixed = obj is not None and obj.name in ROLES
        return [(None, {"fields": ["name", "allowed" if fixed else "permissions"]})]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """`allowed` is computed."""
        return ("allowed",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody changes a built-in role: the next start would undo it."""
        fixed = isinstance(obj, Group) and obj.name in ROLES
        return not fixed and bool(super().has_change_permission(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As for changes."""
        fixed = isinstance(obj, Group) and obj.name in ROLES
        return not fixed and bool(super().has_delete_permission(request, obj))
