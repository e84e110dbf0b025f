"""The variables that make programs use anyzero, and how shells take them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anyzero.api.calls import loaders
from anyzero.api.calls.loaders import Loader
from anyzero.config import ConfigError
from anyzero.errors import Unavailable
from anyzero.tools import environment
from anyzero.tools.env import SHELLS
from anyzero.tools.environment import Unusable, compose
from tests.patience import PATIENCE

OURS, DRIVER = str(loaders.FOLDER), str(loaders.DRIVER)
NEW = Loader("/usr/lib/libze_loader.so.1.32.0", "1.32.0", (1, 17))
OLD = Loader("/usr/lib/libze_loader.so.1.8.0", "1.8.0", (1, 4))
BROKEN = Loader("libze_loader.so.1", error="libc.so.6: version `GLIBC_2.99' not found")
ALWAYS = {"ANYZERO_PYTHON": sys.executable, "OCL_ICD_FILENAMES": str(loaders.OPENCL)}


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> dict[str, Loader | None]:
    """What loader the system has; none, unless the test says otherwise."""
    has: dict[str, Loader | None] = {"loader": None}
    monkeypatch.setattr(loaders, "system_loader", lambda environ: has["loader"])
    monkeypatch.setattr(Path, "exists", lambda path: True)
    return has


@pytest.mark.parametrize(
    ("found", "said"), [(None, "has none"), (OLD, "older than Level Zero 1.10"), (BROKEN, "GLIBC_2.99")]
)
def test_programs_get_our_loader_where_the_system_has_no_good_one(
    system: dict[str, Loader | None], found: Loader | None, said: str
) -> None:
    system["loader"] = found
    made = compose({})
    assert made.changes == {**ALWAYS, "LD_LIBRARY_PATH": OURS}
    assert said in made.reason


def test_programs_get_our_driver_behind_a_good_one(system: dict[str, Loader | None]) -> None:
    system["loader"] = NEW
    made = compose({"ZE_ENABLE_ALT_DRIVERS": "/a.so,/b.so"})
    assert made.changes == {**ALWAYS, "ZE_ENABLE_ALT_DRIVERS": f"/a.so,/b.so,{DRIVER}"}
    assert NEW.path in made.reason


def test_the_choice_can_be_forced(system: dict[str, Loader | None]) -> None:
    system["loader"] = NEW
    assert compose({}, loader="ours").changes["LD_LIBRARY_PATH"] == OURS
    system["loader"] = OLD
    assert compose({}, loader="system").changes["ZE_ENABLE_ALT_DRIVERS"] == DRIVER


@pytest.mark.parametrize(("found", "said"), [(None, "has no libze_loader"), (BROKEN, "GLIBC_2.99")])
def test_a_system_loader_that_is_not_there_cannot_be_forced(
    system: dict[str, Loader | None], found: Loader | None, said: str
) -> None:
    system["loader"] = found
    with pytest.raises(Unusable, match=said) as caught:
        compose({}, loader="system")
    assert "--loader ours" in caught.value.remedy


def test_what_was_there_stays_behind_ours(system: dict[str, Loader | None]) -> None:
    made = compose({"LD_LIBRARY_PATH": "/x:/y", "ZE_ENABLE_ALT_DRIVERS": "/other.so", "HOME": "/me"})
    assert made.changes["LD_LIBRARY_PATH"] == f"{OURS}:/x:/y"
    assert made.applied_to({"HOME": "/me"})["ZE_ENABLE_ALT_DRIVERS"] == "/other.so"


def test_opencl_platforms_that_are_named_stay_before_ours(system: dict[str, Loader | None]) -> None:
    named = compose({"OCL_ICD_FILENAMES": "/theirs.so"}).changes["OCL_ICD_FILENAMES"]
    assert named == f"/theirs.so:{loaders.OPENCL}"


def test_a_second_time_changes_nothing(system: dict[str, Loader | None]) -> None:
    once = compose({"LD_LIBRARY_PATH": "/x"}).applied_to({})
    assert compose(once).applied_to(once) == once
    system["loader"] = NEW
    behind = compose({}).applied_to({})
    assert compose(behind).applied_to(behind) == behind


def test_the_other_loader_leaves_nothing_of_ours(system: dict[str, Loader | None]) -> None:
    once = compose({}).applied_to({})
    system["loader"] = NEW
    assert compose(once).changes["LD_LIBRARY_PATH"] is None
    assert "LD_LIBRARY_PATH" not in compose(once).applied_to(once)
    behind = compose({}).applied_to({})
    assert compose(behind, loader="ours").changes["ZE_ENABLE_ALT_DRIVERS"] is None


def test_a_folder_for_loaders_is_turned_to_ours(system: dict[str, Loader | None]) -> None:
    assert compose({"ZEL_LIBRARY_PATH": "/theirs"}).changes["ZEL_LIBRARY_PATH"] == OURS
    system["loader"] = NEW
    assert "ZEL_LIBRARY_PATH" not in compose({"ZEL_LIBRARY_PATH": "/theirs"}).changes


def test_devices_and_profile_are_checked_before_anything_starts() -> None:
    made = compose({**os.environ}, devices="cpu:tiles=2", profile="intel-gpu", loader="ours")
    assert (made.changes["ANYZERO_DEVICES"], made.changes["ANYZERO_PROFILE"]) == ("cpu:tiles=2", "intel-gpu")
    with pytest.raises(Unavailable, match="'toaster' is not a device"):
        compose({**os.environ}, devices="toaster", loader="ours")
    with pytest.raises(Unavailable, match="no such profile"):
        compose({**os.environ}, profile="toaster", loader="ours")
    with pytest.raises(ConfigError, match="ANYZERO_THREADS"):
        compose({**os.environ, "ANYZERO_THREADS": "many"}, loader="ours")


@pytest.mark.parametrize(
    ("folder", "loader", "variable"),
    [("/a:b/lib", "ours", "LD_LIBRARY_PATH"), ("/a,b/lib", "system", "ZE_ENABLE_ALT_DRIVERS")],
)
def test_a_folder_that_a_variable_cannot_name_is_told(
    system: dict[str, Loader | None], monkeypatch: pytest.MonkeyPatch, folder: str, loader: str, variable: str
) -> None:
    system["loader"] = NEW
    monkeypatch.setattr(loaders, "OURS", Path(folder, loaders.NAME))
    monkeypatch.setattr(loaders, "DRIVER", Path(folder, loaders.DRIVER.name))
    with pytest.raises(Unusable, match=variable):
        compose({}, loader=loader)


def test_a_loader_that_was_not_built_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(loaders, "OURS", tmp_path / loaders.NAME)
    with pytest.raises(Unusable, match="is missing") as caught:
        compose({}, loader="ours")
    assert "make build" in caught.value.remedy


HARD = {
    "PLAIN": "/usr/lib",
    "EMPTY": "",
    "QUOTES": '/it\'s/a "path"',
    "SHELL": "$(touch /nowhere/x) `id` $HOME; \\ \\' *",
    "LINES": "one\ntwo\n",
    "GREEK": "/λ",
    "BYTES": os.fsdecode(b"/\xff\xfe"),
    "GONE": None,
}


@pytest.mark.parametrize(("shell", "program"), [("sh", "sh"), ("sh", "bash"), ("sh", "zsh"), ("fish", "fish")])
def test_shells_read_what_was_meant(shell: str, program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"NOT TESTED: what {program} reads; on Debian: apt install {program}")
    result = subprocess.run(
        [program, "-c", os.fsencode(SHELLS[shell](HARD)) + b"env -0\n"],
        env={**os.environ, "GONE": "still here"},
        capture_output=True,
        timeout=PATIENCE,
    )
    assert result.stderr == b""
    read = dict(os.fsdecode(each).split("=", 1) for each in result.stdout.split(b"\0") if each)
    assert {name: read.get(name) for name in HARD} == HARD


def test_github_reads_lines_and_blocks() -> None:
    text = SHELLS["github"](HARD)
    read, lines = {}, iter(text.splitlines())
    for line in lines:
        name, block, end = line.partition("<<")
        if block and "=" not in name:
            body = []
            while (each := next(lines)) != end:
                body.append(each)
            read[name] = "\n".join(body)
        else:
            name, _, value = line.partition("=")
            read[name] = value
    assert read == {name: value or "" for name, value in HARD.items()}


def test_json_tells_what_has_to_go() -> None:
    assert json.loads(SHELLS["json"](HARD)) == HARD


def test_the_environment_before_ours_can_be_had_back() -> None:
    given = {"LD_LIBRARY_PATH": f"{OURS}:/x", "ZE_ENABLE_ALT_DRIVERS": DRIVER, "HOME": "/me"}
    assert environment.without_ours(given) == {"LD_LIBRARY_PATH": "/x", "HOME": "/me"}
