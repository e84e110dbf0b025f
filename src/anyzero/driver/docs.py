"""``docs/environment.md``, made from the tables that the program itself reads."""

from __future__ import annotations

from anyzero import config
from anyzero.driver import profiles, topology

__all__ = ["environment"]

_OPENING = """\
<!-- Generated: python -m anyzero.driver --docs > docs/environment.md -->
# Environment variables

Read once, when the driver starts. A variable that is unset or empty has its default; a bad value stops the start with a
message that names the variable, the value and what is accepted. Sizes take `K`, `M`, `G` and `T`, powers of 1024.
"""


def environment() -> str:
    """The whole page."""
    sections = [
        _OPENING,
        config.markdown(),
        "## Devices: `ANYZERO_DEVICES`\n",
        topology.markdown(),
        "## Identities: `ANYZERO_PROFILE`\n",
        profiles.markdown(),
    ]
    return "\n".join(sections)
