"""Every name of recordings that a user may write behind `anyzero.`, once."""

from anyzero.tracing.session import trace as trace
