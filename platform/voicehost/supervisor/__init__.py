"""One machine's processes: started in order, restarted with back-off, stopped in order."""
