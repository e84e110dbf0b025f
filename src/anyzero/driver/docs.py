"""``docs/environment.md``, generated from the tables that the program itself reads."""

from __future__ import annotations

from anyzero import config
from anyzero.driver.devices import profiles, topology

__all__ = ["environment"]

_OPENING = """\
<!-- Generated: python -m anyzero.driver --docs > docs/environment.md -->
# Environment variables

The driver reads these variables once, when it starts. An unset or empty variable has its default. With an invalid value
the driver does not start; the error names the variable, the value and the accepted values.
Sizes take `K`, `M`, `G` and `T`, powers of 1024.
"""


_SPECIFICATION = """\
## Variables of the specification

| variable | accepts | default | meaning |
|---|---|---|---|
| `ZE_FLAT_DEVICE_HIERARCHY` | `COMPOSITE`, `FLAT`, `COMBINED` | `COMPOSITE` | The devices that `zeDeviceGet` lists if they have tiles: the table below. |
| `ZE_AFFINITY_MASK` | `0`, `0,1`, `0.1`, `1.0,1.1` | all devices | The compute devices and tiles that a program sees, counted as `zeDeviceGet` would list them without the mask. |
| `ZE_ENABLE_PCI_ID_DEVICE_ORDER` | `0`, `1` | `0` | No effect: devices are in the order of their PCI addresses anyway. |

Hardware drivers list tiles by default (`FLAT`). Here tiles exist only if `ANYZERO_DEVICES` asks for them, so they are shown as tiles.

| | `COMPOSITE` | `FLAT` | `COMBINED` |
|---|---|---|---|
| `zeDeviceGet` | devices | tiles, and devices without tiles | tiles, and devices without tiles |
| `zeDeviceGetSubDevices` | the tiles of a device | none | the tiles of a device that `zeDeviceGetRootDevice` returned |
| `zeDeviceGetRootDevice` of a tile | its device | null | its device |
| `ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE` of a tile | set | not set | set |

With `COMPOSITE` an entry `1.0` of the mask is tile 0 of device 1. A single selected tile is reported as a device without tiles. If several tiles are selected, their device reports the memory and the threads of these tiles. With the other two values an entry is
one number, because each tile is a device. An entry that names no device selects none; if no device is left, `zeInit` returns `ERROR_UNINITIALIZED`. The process that uses the devices reads these variables, even if
`ANYZERO_DESCRIPTION` names a file. The mask does not apply to the NPU and to [system management](sysman.md). `anyzero info` lists hidden devices.
"""  # noqa: E501


def environment() -> str:
    """The whole page."""
    sections = [
        _OPENING,
        config.markdown(),
        "## Devices: `ANYZERO_DEVICES`\n",
        topology.markdown(),
        "## Identities: `ANYZERO_PROFILE`\n",
        profiles.markdown(),
        _SPECIFICATION,
    ]
    return "\n".join(sections)
