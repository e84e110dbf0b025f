"""onnxruntime-openvino without OpenVINO beside it: it then runs models on its own CPU provider, silently."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

__all__ = ["INSTALL", "missing_openvino", "missing_openvino_of_program"]

INSTALL: Final = "pip install openvino, of the version that onnxruntime-openvino was built with (its release notes)"
_PYTHON: Final = re.compile(r"python[0-9.]*")


def missing_openvino(folders: Sequence[str | Path]) -> str:
    """The version of an onnxruntime-openvino in these folders of packages that has no OpenVINO; else nothing."""
    found = ""
    for folder in map(Path, folders):
        if not folder.is_dir():
            continue
        if any(folder.glob("openvino-[0-9]*.dist-info")):
            return ""
        for told in folder.glob("onnxruntime_openvino-*.dist-info"):
            found = told.name.removeprefix("onnxruntime_openvino-").removesuffix(".dist-info")
    return found


def missing_openvino_of_program(program: str, environ: Mapping[str, str]) -> str:
    """The same for the packages of a Python that is to be started; other programs have none that we could find."""
    path = shutil.which(program, path=environ.get("PATH"))
    if path is None or _PYTHON.fullmatch(Path(path).name) is None:
        return ""
    if Path(path).parent == Path(sys.executable).parent:
        return missing_openvino([each for each in sys.path if each])
    # A virtual environment is where its link lies, and another Python where the link leads.
    for prefix in (Path(path).parent.parent, Path(path).resolve().parent.parent):
        folders = [*prefix.glob("lib/python3*/site-packages"), *prefix.glob("lib/python3*/dist-packages")]
        if folders:
            return missing_openvino(folders)
    return ""
