"""How dates are written, a folder for each language."""
