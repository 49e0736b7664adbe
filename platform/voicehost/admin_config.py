"""Django's admin with the project's own site."""

from django.contrib.admin.apps import AdminConfig


class VoicehostAdminConfig(AdminConfig):
    """The admin at /admin/."""

    default_site = "voicehost.admin_site.AdminSite"
