"""Type checking: from a function's syntax tree to the typed tree."""
