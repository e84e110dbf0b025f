"""The public names of recordings: `anyzero.NAME`."""

from anyzero.tracing.session import trace as trace
