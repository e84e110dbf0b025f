"""Generated files are committed; regenerating them must change nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE
from tests.shape.tree import GENERATED, ROOT, files

HEADER = "engine/abi/gen/ze_api.h"


def check(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "codegen", "--check"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=PATIENCE)


def test_generated_files_are_fresh() -> None:
    assert any(name.startswith(GENERATED) for name in files())
    result = check(ROOT)
    assert result.returncode == 0, f"run `make codegen`\n{result.stdout}{result.stderr}"


def test_an_edited_file_is_noticed(tmp_path: Path) -> None:
    for name in files():
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    with (tmp_path / HEADER).open("a") as header:
        header.write("// edited by hand\n")
    result = check(tmp_path)
    assert result.returncode == 1
    assert HEADER in result.stdout
