"""Mistakes of a C program are found, each with the function that makes it."""

from __future__ import annotations

import json
import linecache
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from tests.shape.tree import ROOT

SOURCE = Path(__file__).with_name("wrong.c")
LIBRARY = ROOT / "src" / "anyzero" / "lib"

FOUND = {
    "copies_too_much": ("command-out-of-bounds", "zeCommandListAppendMemoryCopy"),
    "fills_from_the_middle": ("command-out-of-bounds", "zeCommandListAppendMemoryFill"),
    "copies_freed_memory": ("use-after-free", "zeCommandListAppendMemoryCopy"),
    "frees_twice": ("double-free", "zeMemFree"),
    "frees_what_a_command_uses": ("memory-freed-in-use", "zeMemFree"),
    "resets_what_a_command_awaits": ("event-reset-in-use", "zeEventHostReset"),
    "waits_for_nothing": ("wait-never-ends", "zeEventHostSynchronize"),
    "destroys_a_list_in_flight": ("list-in-use", "zeCommandListDestroy"),
    "resets_a_fence_too_early": ("fence-in-use", "zeFenceReset"),
    "appends_to_a_closed_list": ("closed-list", "zeCommandListAppendBarrier"),
    "copies_memory_of_another_context": ("other-context", "zeCommandListAppendMemoryCopy"),
    "forgets_the_type_of_a_descriptor": ("wrong-structure-type", "zeEventCreate"),
    "awaits_a_result_without_host_scope": ("missing-host-scope", "zeEventHostSynchronize"),
    "writes_a_misaligned_timestamp": ("misaligned-pointer", "zeCommandListAppendWriteGlobalTimestamp"),
    "destroys_a_context_with_memory": ("leak", "zeContextDestroy"),
    "destroys_an_event_twice": ("refused-call", "zeEventDestroy"),
    "frees_from_the_middle": ("refused-call", "zeMemFree"),
    "executes_an_open_list": ("refused-call", "zeCommandQueueExecuteCommandLists"),
    "makes_a_queue_of_no_group": ("refused-call", "zeCommandQueueCreate"),
    "copies_too_much_with_parameters": ("command-out-of-bounds", "zeCommandListAppendMemoryCopyWithParameters"),
    "advises_about_too_much": ("command-out-of-bounds", "zeCommandListAppendMemAdvise"),
    "copies_an_image_to_too_little": ("command-out-of-bounds", "zeCommandListAppendImageCopyToMemory"),
    "copies_rows_from_too_little": ("command-out-of-bounds", "zeCommandListAppendImageCopyFromMemoryExt"),
    "asks_times_into_too_little": ("command-out-of-bounds", "zeCommandListAppendQueryKernelTimestamps"),
    "executes_a_copy_to_freed_memory": ("use-after-free", "zeCommandQueueExecuteCommandLists"),
    "copies_to_nowhere": ("device-lost", "zeCommandListAppendMemoryCopy"),
    "destroys_a_pool_before_its_event": ("destroyed-before-parts", "zeEventPoolDestroy"),
    "makes_two_events_of_one_index": ("shared-event-index", "zeEventCreate"),
    "destroys_a_context_with_addresses": ("leak", "zeContextDestroy"),
}


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("found")
    program = folder / "wrong"
    compiler = os.environ.get("CC", "cc")
    flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-rdynamic"]
    link = [f"-I{ROOT / 'engine' / 'abi' / 'gen'}", str(LIBRARY / "libze_loader.so.1"), f"-Wl,-rpath,{LIBRARY}"]
    subprocess.run([compiler, *flags, str(SOURCE), *link, "-o", str(program)], check=True, timeout=PATIENCE)
    reports = folder / "reports"
    reports.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANYZERO_")}
    chosen = {"ANYZERO_CHECK": "on", "ANYZERO_CHECK_REPORT": str(reports), "ANYZERO_PYTHON": sys.executable}
    done = subprocess.run([program], env=kept | chosen, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for path in reports.iterdir() for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name", FOUND)
def test_given_a_mistake_then_it_is_found_with_its_function(name: str, findings: list[dict[str, Any]]) -> None:
    rule, call = FOUND[name]
    (each,) = (finding for finding in findings if finding.get("caller", "").startswith(f"{name}+"))
    assert (each["rule"], each["call"]) == (rule, call)
    if shutil.which("addr2line"):
        line = re.search(rf'File "(.*wrong.c)", line (\d+), in {name}$', each["caller"])
        assert line is not None, each["caller"]
        assert each["call"] in linecache.getline(line[1], int(line[2]))


def test_nothing_else_is_found(findings: list[dict[str, Any]]) -> None:
    assert len(findings) == len(FOUND), [each["message"] for each in findings]
