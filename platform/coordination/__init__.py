"""What many processes share through Redis: connections, the configuration epoch, key names.

Beneath every app, so also the place of `clipping`, which all their messages use.
"""
