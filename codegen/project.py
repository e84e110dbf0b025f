"""Which files are generated, and from what."""

from __future__ import annotations

from pathlib import Path

from codegen import (
    c_header,
    checks,
    coverage,
    ctypes_npu,
    ctypes_package,
    entries,
    layouts,
    layouts_cpp,
    layouts_python,
    loader,
    model,
    recorded,
    scan,
    spirv_tables,
    structures,
    tables,
    traced,
    values,
    watched,
)
from codegen.outputs import NOTICE, Output


def outputs(root: Path) -> list[Output]:
    api, npu, classes = _load(root)
    hooks = traced.read_hooks(root / "engine" / "validation")
    quickly_recorded = recorded.functions(api, classes, hooks)
    families = layouts.load(root / "spec" / "layouts.toml")
    return [
        *layouts_cpp.outputs(families),
        *layouts_python.outputs(families),
        *c_header.outputs(api, npu),
        *values.outputs(api),
        *structures.outputs(api),
        *entries.outputs(api, classes),
        *tables.outputs(api),
        *traced.outputs(api, hooks, {entry.function.name for entry in quickly_recorded}),
        *recorded.outputs(api, quickly_recorded),
        *watched.outputs(api, classes, hooks),
        *checks.outputs(root / "spec" / "checks.toml"),
        *loader.outputs(api),
        *ctypes_package.outputs(api),
        *ctypes_npu.outputs(api, npu),
        *coverage.outputs(api, classes),
        *spirv_tables.outputs(root / "spec" / "spirv"),
    ]


def remarks(root: Path) -> list[str]:
    """Methods of the engine's objects that look like functions of the API and have no entry point, and why."""
    api, _, classes = _load(root)
    known: dict[str, set[str]] = {}
    found = []
    tabled = [entries.of_tables(api, classes, namespace).values() for namespace in ("ze", "zes", "zet")]
    for entry in (entry for of_namespace in tabled for table in of_namespace for entry in table):
        known.setdefault(entry.class_name, set()).add(entry.method)
        if entry.missing:
            found.append(
                f"{entry.class_name}::{entry.method} is a stub until a header defines {', '.join(entry.missing)}"
            )
    for name, methods in known.items():
        declared = (
            {method for result, method in classes[name].methods if result == "ze_result_t"}
            if name in classes
            else set()
        )
        odd = sorted(method for method in declared - methods if method != method.lower())
        found += [f"{name}::{method} is the method of no function" for method in odd]
    return found


def _load(root: Path) -> tuple[model.Api, model.Api, dict[str, scan.Class]]:
    spec = root / "spec"
    api, npu = model.load(spec / "level_zero_api.json"), model.load(spec / "level_zero_npu_ext.json")
    return api, npu, scan.classes(*(root / "engine" / folder for folder in ("objects", "sysman", "metrics")))


def leftovers(root: Path, current: list[Output]) -> list[str]:
    """Files that an earlier run generated and this one would not."""
    known = {output.path for output in current}
    folders = {(root / path).parent for path in known}
    found = (file for folder in folders if folder.is_dir() for file in folder.iterdir() if file.is_file())
    return sorted(
        path
        for file in found
        if (path := file.relative_to(root).as_posix()) not in known
        and NOTICE in file.read_text(errors="replace").split("\n", 1)[0]
    )
