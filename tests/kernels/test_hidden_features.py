"""The library that hides a processor's features from LLVM, with a stand-in for LLVM."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks.kernels.peers import FEATURES
from benchmarks.kernels.targets import TARGETS

ASKED = "_ZN4llvm3sys18getHostCPUFeaturesERNS_9StringMapIbNS_15MallocAllocatorEEE"
MAP = "#include <stddef.h>\nstruct map { char** entries; unsigned buckets, items, tombstones, entry_size; };\n"
LLVM = f"""{MAP}
static struct {{ size_t length; char value, padding[7]; char name[16]; }} known[] = {{
  {{7, 1, "", "avx512f"}}, {{4, 1, "", "avx2"}}, {{6, 1, "", "sse4.2"}}, {{4, 0, "", "fma4"}}}};
int {ASKED}(struct map* map) {{
  static char* entries[6];
  for (int i = 0; i < 4; i++) entries[i ? i + 2 : 0] = (char*)&known[i];
  entries[2] = (char*)(~(size_t)0 << 3);
  map->entries = entries;
  map->buckets = 6, map->entry_size = 16;
  return 1;
}}
"""
PROGRAM = f"""{MAP}#include <stdio.h>
int {ASKED}(struct map*);
int main(void) {{
  struct map map;
  int known = {ASKED}(&map);
  for (unsigned i = 0; i < map.buckets; i++)
    if (i != 1 && i != 2 && map.entries[i][8]) printf("%s ", map.entries[i] + 16);
  return !known;
}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("features")
    for name, text in (("llvm.c", LLVM), ("program.c", PROGRAM)):
        (made / name).write_text(text)
    shared = ["cc", "-shared", "-fPIC"]
    subprocess.run([*shared, "llvm.c", "-Wl,-soname,libLLVM-15.so.1", "-o", "libLLVM-15.so.1"], cwd=made, check=True)
    subprocess.run([*shared, str(FEATURES), "-o", "features.so", "-ldl"], cwd=made, check=True)
    subprocess.run(["cc", "program.c", "./libLLVM-15.so.1", "-o", "program"], cwd=made, check=True)
    return made


@pytest.mark.parametrize(
    ("target", "left"), [("native", "avx512f avx2 sse4.2"), ("avx2", "avx2 sse4.2"), ("sse4.2", "sse4.2")]
)
def test_features_beyond_a_target_are_hidden(folder: Path, target: str, left: str) -> None:
    variables = {
        "LD_LIBRARY_PATH": str(folder),
        "LD_PRELOAD": str(folder / "features.so"),
        "BENCHMARKS_HIDDEN_FEATURES": TARGETS[target].hidden,
    }
    found = subprocess.run([folder / "program"], env=os.environ | variables, check=True, capture_output=True, text=True)
    assert found.stdout.split() == left.split()
