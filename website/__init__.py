"""The documentation site: `make docs` builds it from docs/, the examples and the docstrings."""
