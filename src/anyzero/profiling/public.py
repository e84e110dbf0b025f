"""The public names of profiles: `anyzero.NAME`."""

from anyzero.profiling.session import profile as profile
