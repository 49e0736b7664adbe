"""What the registry's admin pages share."""

from django.http import HttpRequest


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
