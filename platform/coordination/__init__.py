"""What many processes share through Redis: connections, the configuration epoch, key names."""
