"""The files for CI systems, and the recipes of docs/ci.md: they are well-formed, and their shell runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples.blocks import blocks
from tests.patience import PATIENCE
from tests.shape.tree import ROOT

yaml = pytest.importorskip("yaml", reason="NOT TESTED: the recipes for CI systems; make venv")

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PAGE = ROOT / "docs" / "ci.md"


def on_page(language: str) -> list[str]:
    return [textwrap.dedent(block.text) for block in blocks(PAGE) if block.language == language]


def scripts(tree: Any) -> Iterator[str]:
    """The shell in a recipe, wherever it stands."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in ("run", "script"):
                yield value if isinstance(value, str) else "\n".join(value)
            else:
                yield from scripts(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from scripts(value)


def shell(script: str, folder: Path, **variables: str) -> str:
    """Run a script as CI systems do, with the package of this checkout: pip finds everything installed already."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if not re.match("ANYZERO_|PYTEST_", name)}
    # An environment that was made before the plugin does not load it by itself.
    plugin = "-p no:anyzero -p anyzero.testing.plugin -p no:cacheprovider"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={**environment, "PATH": path, "PYTEST_ADDOPTS": plugin, "PIP_NO_INDEX": "1", **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


TREES = {
    **{path.name: yaml.safe_load(path.read_text()) for path in (*WORKFLOWS, ROOT / "action.yml")},
    **{f"ci.md {index}": yaml.safe_load(text) for index, text in enumerate(on_page("yaml"))},
}


@pytest.mark.parametrize("name", TREES)
def test_scripts_are_shell_and_name_targets_that_exist(name: str) -> None:
    found = list(scripts(TREES[name]))
    assert found
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for script in found:
        assert subprocess.run(["bash", "-n", "-c", script], timeout=PATIENCE).returncode == 0
        assert set(re.findall(r"^make (\w+)", script, re.MULTILINE)) <= targets


def test_changes_are_tested_and_releases_are_published_without_a_password() -> None:
    # YAML takes the word `on` for a truth value.
    assert TREES["test.yml"][True].keys() == {"push", "pull_request"}
    assert any("make test" in script for script in scripts(TREES["test.yml"]))
    publish = TREES["release.yml"]["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["needs"] == "build"
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()


def test_a_tag_that_is_not_the_version_is_refused(tmp_path: Path) -> None:
    (script,) = (each for each in scripts(TREES["release.yml"]) if "GITHUB_REF_NAME" in each)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    shell(script, tmp_path, GITHUB_REF_NAME="v1.2.0")
    for wrong in ("v1.2.1", "v1.2", "v1.2.0.1"):
        with pytest.raises(AssertionError):
            shell(script, tmp_path, GITHUB_REF_NAME=wrong)


def test_the_action(tmp_path: Path) -> None:
    inputs = {name: each["default"] for name, each in TREES["action.yml"]["inputs"].items()}
    (script,) = scripts(TREES["action.yml"])
    told = tmp_path / "variables"
    said = shell(script, tmp_path, GITHUB_ENV=str(told), PACKAGE=inputs["package"], DEVICES="cpu:tiles=2")
    assert "Everything that is needed works." in said
    lines = told.read_text().splitlines()
    assert "ANYZERO_DEVICES=cpu:tiles=2" in lines
    assert any(line.startswith("ANYZERO_PYTHON=") for line in lines)


def test_the_recipe_for_gitlab_runs_the_tests_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "test_example.py").write_text("\n".join(on_page("python")))
    (tree,) = (tree for tree in TREES.values() if "test" in tree and "script" in tree["test"])
    (script,) = scripts(tree)
    said = shell(script.replace("anyzero doctor\n", ""), tmp_path)
    assert "3 passed" in said
    assert re.search(r"^anyzero \S+: anyzero CPU.*; strict", said, re.MULTILINE)


def test_the_dockerfile(tmp_path: Path) -> None:
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    assert on_page("dockerfile") == ["\n".join(lines) + "\n"]
    words = dict(line.split(" ", 1) for line in lines)
    installing = next(line.removeprefix("RUN ") for line in lines if line.startswith("RUN python -m pip"))
    shell(installing, tmp_path, PACKAGE=words["ARG"].partition("=")[2])
    command = " ".join((*json.loads(words["ENTRYPOINT"]), *json.loads(words["CMD"])))
    assert "anyzero CPU" in shell(command, tmp_path)
