"""What the registry's admin pages share."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect

from models_registry.errors import RegistryError


class ReadOnly:
    """Permissions of what is only looked at."""

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Nobody adds."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Nobody changes."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Nobody deletes."""
        return False


def back_with_error(request: HttpRequest, error: RegistryError) -> HttpResponseRedirect:
    """The same page again, with the error on it."""
    messages.error(request, error.message)
    return HttpResponseRedirect(request.path)
