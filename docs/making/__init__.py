"""Pages of the site that are made, not written: of docstrings, of the catalogue and of stored results."""
