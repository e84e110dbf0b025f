"""Every name of profiles that a user may write behind `anyzero.`, once."""

from anyzero.profiling.session import profile as profile
