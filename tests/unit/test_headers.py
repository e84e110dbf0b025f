"""The C headers that come with the package."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import anyzero
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("ze_api.h", "ze_npu_ext.h")
FORWARDED = {"zer_api.h", "zes_api.h", "zet_api.h"}
USE = """
ze_graph_dditable_ext_t* graphs_of(ze_driver_handle_t driver) {
  void* table = 0;
  return zeDriverGetExtensionFunctionAddress(driver, ZE_GRAPH_EXT_NAME, &table) ? 0 : (ze_graph_dditable_ext_t*)table;
}
"""


def test_they_are_those_that_the_driver_is_built_with() -> None:
    folder = Path(anyzero.get_include(), "level_zero")
    assert {path.name for path in folder.iterdir()} == {*NAMES, *FORWARDED, "layers", "loader"}
    for name in NAMES:
        assert (folder / name).read_bytes() == (ROOT / "engine" / "abi" / "gen" / name).read_bytes()


@pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler")
@pytest.mark.parametrize(("language", "standard"), [("c", "c11"), ("c++", "c++17")])
@pytest.mark.parametrize("order", [["ze_npu_ext"], ["zet_api", "ze_npu_ext"], ["ze_npu_ext", "zet_api"]])
def test_they_go_together_with_those_of_the_specification(
    tmp_path: Path, language: str, standard: str, order: list[str]
) -> None:
    """In either order; a stand-in has the guards of the real ones and would fail where it is read in vain."""
    system = tmp_path / "level_zero"
    system.mkdir()
    included = Path(anyzero.get_include(), "level_zero", "ze_api.h").read_text()
    for name, text in (("ze_api", included), ("zet_api", '#include "ze_api.h"\ntypedef int only_in_theirs;\n')):
        guard = f"_{name.upper()}_H"
        body = text if name == "ze_api" else f"#ifndef {guard}\n#define {guard}\n{text}#endif\n"
        (system / f"{name}.h").write_text(body)
    folder = {"ze_npu_ext": "ours"}
    (tmp_path / "ours").symlink_to(Path(anyzero.get_include(), "level_zero"))
    lines = [f'#include "{folder.get(name, "level_zero")}/{name}.h"' for name in order]
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", language]
    source = "\n".join(lines) + USE
    done = subprocess.run(
        ["gcc", *flags, "-I", str(tmp_path), "-"], input=source, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
