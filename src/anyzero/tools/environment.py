"""The environment in which a program uses anyzero: `anyzero run` starts it there, and `anyzero env` prints it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anyzero import config, errors
from anyzero.api.calls import loaders

__all__ = ["DRIVERS", "Unusable", "Variables", "check", "compose", "for_python", "without_ours"]

SEARCH: Final = "LD_LIBRARY_PATH"
DRIVERS: Final = "ZE_ENABLE_ALT_DRIVERS"
LAYERS: Final = "ZEL_LIBRARY_PATH"
PLATFORMS: Final = "OCL_ICD_FILENAMES"
CHOICES: Final = ("ours", "system")

_PATIENCE_S: Final = 60
_BUILD: Final = "In a checkout run `make build`; else reinstall: pip install --force-reinstall anyzero."


class Unusable(errors.Error):
    """There is no way to make a program use anyzero here."""


@dataclass(frozen=True, slots=True)
class Variables:
    """Changes to the given environment; a variable that is None has to be removed."""

    changes: dict[str, str | None]
    reason: str
    """The loader that programs get, and the reason for it."""

    def applied_to(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The whole environment, with the changes."""
        merged: dict[str, str | None] = {**environ, **self.changes}
        return {name: value for name, value in merged.items() if value is not None}


def compose(
    environ: Mapping[str, str],
    *,
    devices: str | None = None,
    profile: str | None = None,
    loader: str | None = None,
) -> Variables:
    """The variables for programs, checked; with no `loader` named, the system's where that is new enough, else ours."""
    changes: dict[str, str | None] = {"ANYZERO_PYTHON": sys.executable or None}
    if devices is not None:
        changes["ANYZERO_DEVICES"] = devices
    if profile is not None:
        changes["ANYZERO_PROFILE"] = profile
    # A second call must find the system's loader, not the one that the first call put in front of it.
    plain = without_ours(environ)
    search, drivers = plain.get(SEARCH, ""), plain.get(DRIVERS, "")
    chosen, reason = _choose(loader, plain)
    if chosen == "ours":
        _require(loaders.OURS, ":;", SEARCH)
        search = ":".join(filter(None, [str(loaders.FOLDER), search]))
        if environ.get(LAYERS):
            # If the variable is set, some programs look for the loader there and nowhere else.
            changes[LAYERS] = str(loaders.FOLDER)
    else:
        _require(loaders.DRIVER, ",", DRIVERS)
        drivers = ",".join(filter(None, [drivers, str(loaders.DRIVER)]))
    if loaders.OPENCL.exists():
        # oneMKL's FFT compiles its kernels through OpenCL; other programs do not see this platform.
        changes[PLATFORMS] = ":".join(filter(None, [plain.get(PLATFORMS, ""), str(loaders.OPENCL)]))
    changes[SEARCH] = search or None
    changes[DRIVERS] = drivers or None
    made = Variables({name: value for name, value in changes.items() if value is not None or name in environ}, reason)
    check(made.applied_to(environ))
    return made


def without_ours(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without this package's changes."""
    made = dict(environ)
    own = ((SEARCH, ":", loaders.FOLDER), (DRIVERS, ",", loaders.DRIVER), (PLATFORMS, ":", loaders.OPENCL))
    for variable, separator, ours in own:
        if left := _without(environ.get(variable, ""), separator, ours):
            made[variable] = left
        else:
            made.pop(variable, None)
    return made


def _without(listed: str, separator: str, ours: Path) -> str:
    return separator.join(each for each in listed.split(separator) if not each or not _is_same(each, ours))


def _is_same(given: str, ours: Path) -> bool:
    return Path(given) == ours or os.path.realpath(given) == os.path.realpath(ours)


def _choose(wanted: str | None, environ: Mapping[str, str]) -> tuple[str, str]:
    if wanted == "ours":
        return "ours", f"{loaders.OURS}, as asked for"
    found = loaders.system_loader(environ)
    if wanted == "system":
        if found is None:
            raise Unusable(
                f"the system has no {loaders.NAME}",
                remedy="Install one (Debian, Ubuntu: apt install libze1; Fedora: dnf install oneapi-level-zero), or "
                "use --loader ours.",
            )
        if found.level is None:
            raise Unusable(f"the system's loader {found}", remedy="Fix that, or use --loader ours.")
        return "system", f"{found}, as asked for"
    if found is None:
        return "ours", f"{loaders.OURS}, because the system has none"
    if found.level is None:
        return "ours", f"{loaders.OURS}, because of the system's {found}"
    if not found.is_enough:
        needed = loaders.text_of(loaders.NEEDED)
        return "ours", f"{loaders.OURS}, because the system's is older than Level Zero {needed}: {found}"
    return "system", f"the system's: {found}"


def _require(library: Path, separators: str, variable: str) -> None:
    if not library.exists():
        raise Unusable(f"{library} is missing", remedy=_BUILD)
    clash = next((each for each in separators if each in str(library)), None)
    if clash:
        raise Unusable(
            f"{variable} cannot name {library}, because {clash!r} separates its entries",
            remedy="Install anyzero in a folder without that character.",
        )


def for_python(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for another process of this Python, which has to find this package where this one did."""
    place = str(Path(config.__file__).parents[1])
    return {**environ, "PYTHONPATH": os.pathsep.join(filter(None, [place, environ.get("PYTHONPATH")]))}


def check(environ: Mapping[str, str]) -> None:
    """Raise an error for variables that the driver would refuse, with the driver's own words."""
    config.read(environ)
    if not environ.get("ANYZERO_DEVICES") and not environ.get("ANYZERO_PROFILE"):
        return
    # Only the driver knows the devices and profiles, and it reports the same error that it would report later.
    tried = subprocess.run(
        [sys.executable, "-m", "anyzero.driver", "--show"],
        env=for_python(environ),
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
    )
    if tried.returncode:
        said = tried.stderr.strip().splitlines()
        raise errors.Unavailable((said[-1] if said else "the driver does not start").removeprefix("error: "), remedy="")
