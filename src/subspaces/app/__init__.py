"""The applications: they import the library and are never imported by it."""
