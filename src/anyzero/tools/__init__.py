"""The `anyzero` command."""
