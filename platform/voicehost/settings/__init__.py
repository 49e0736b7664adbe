"""Settings: `base` is shared, `dev` is one machine, `prod` is production, `test` the tests."""
