"""Programs in C and C++ that other people's build systems compile against the package."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anyzero.tools.cli import main
from anyzero.tools.config import OPTIONS, values
from tests.patience import PATIENCE

# Both C and C++. Programs also ask for parts of the API by the names `zes_api.h` and `ze_loader.h`.
SOURCE = """
#include <stdio.h>
#include <ze_api.h>
#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>
#include <level_zero/loader/ze_loader.h>

int main(void) {
  uint32_t count = 0;
  zel_component_version_t version;
  zes_structure_type_t part = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  if (zelGetLoaderVersion(&version) || zeInit(0) || zeDriverGet(&count, 0)) return 1;
  printf("%s %d drivers %d\\n", version.component_name, count > 0, part != 0);
  return 0;
}
"""
PRINTS = "loader 1 drivers 1\n"
PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(example LANGUAGES C CXX)
find_package(LevelZero 1.17 REQUIRED)
foreach(language c cpp)
  add_executable(with_target_${language} program.${language})
  target_link_libraries(with_target_${language} PRIVATE LevelZero::LevelZero)
endforeach()
"""
PROJECT_WITH_MODULE = """
cmake_minimum_required(VERSION 3.20)
project(example LANGUAGES C)
find_package(LevelZero REQUIRED)
add_executable(with_variables program.c)
target_include_directories(with_variables PRIVATE ${LevelZero_INCLUDE_DIRS})
target_link_libraries(with_variables PRIVATE ${LevelZero_LIBRARIES})
"""
FIND_MODULE = """
find_path(LevelZero_INCLUDE_DIR NAMES level_zero/ze_api.h)
find_library(LevelZero_LIBRARY NAMES ze_loader)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LevelZero DEFAULT_MSG LevelZero_INCLUDE_DIR LevelZero_LIBRARY)
set(LevelZero_INCLUDE_DIRS ${LevelZero_INCLUDE_DIR} ${LevelZero_INCLUDE_DIR}/level_zero)
set(LevelZero_LIBRARIES ${LevelZero_LIBRARY})
"""
needs_compiler = pytest.mark.skipif(not shutil.which("g++"), reason="NOT TESTED: no g++; on Debian: apt install g++")


def done(*command: str | Path, variables: dict[str, str] | None = None) -> str:
    # Nothing but the program itself says where the loader is.
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    result = subprocess.run(
        command, env={**environment, **(variables or {})}, capture_output=True, text=True, timeout=PATIENCE
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def config(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["config", *(f"--{name}" for name in options)]) == 0
    return capsys.readouterr().out.rstrip("\n")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for suffix in ("c", "cpp"):
        (tmp_path / f"program.{suffix}").write_text(SOURCE)
    return tmp_path


@needs_compiler
@pytest.mark.parametrize(("compiler", "suffix"), [("gcc", "c"), ("g++", "cpp")])
def test_flags_for_a_compiler(capsys: pytest.CaptureFixture[str], sources: Path, compiler: str, suffix: str) -> None:
    flags = shlex.split(config(capsys, "cflags", "libs", "rpath"))
    done(compiler, "-Wall", "-Wextra", "-Werror", sources / f"program.{suffix}", *flags, "-o", sources / "program")
    assert done(sources / "program") == PRINTS


@needs_compiler
def test_flags_of_pkg_config(capsys: pytest.CaptureFixture[str], sources: Path) -> None:
    if not shutil.which("pkg-config"):
        pytest.skip("NOT TESTED: no pkg-config; on Debian: apt install pkg-config")
    place = {"PKG_CONFIG_PATH": config(capsys, "pkg-config-dir")}
    done("pkg-config", "--atleast-version=1.17", "level-zero", variables=place)
    flags = done("pkg-config", "--cflags", "--libs", "level-zero", variables=place)
    assert done("pkg-config", "--cflags", "--libs", "libze_loader", variables=place) == flags
    done("gcc", sources / "program.c", *shlex.split(flags), "-o", sources / "program")
    assert done(sources / "program") == PRINTS


def build(sources: Path, project: str, *options: str, variables: dict[str, str] | None = None) -> None:
    beside = Path(sys.executable).parent
    cmake = shutil.which("cmake", path=f"{beside}:{os.environ['PATH']}")
    if cmake is None:
        pytest.skip("NOT TESTED: no cmake; pip install cmake")
    (sources / "CMakeLists.txt").write_text(project)
    # Trying the compiler takes longer than the rest.
    trusted = ("-DCMAKE_C_COMPILER_WORKS=ON", "-DCMAKE_CXX_COMPILER_WORKS=ON")
    done(cmake, "-S", sources, "-B", sources / "build", *trusted, *options, variables=variables)
    done(cmake, "--build", sources / "build")


@needs_compiler
def test_the_package_for_cmake(capsys: pytest.CaptureFixture[str], sources: Path) -> None:
    build(sources, PROJECT, f"-DLevelZero_DIR={config(capsys, 'cmake-dir')}")
    for name in ("with_target_c", "with_target_cpp"):
        assert done(sources / "build" / name) == PRINTS


@needs_compiler
def test_a_find_module_of_a_project(capsys: pytest.CaptureFixture[str], sources: Path) -> None:
    """Found by paths in variables, as docs/c-programs.md shows, and used by variables as the package sets them, too."""
    (sources / "FindLevelZero.cmake").write_text(FIND_MODULE)
    places = {"CMAKE_INCLUDE_PATH": config(capsys, "include-dir"), "CMAKE_LIBRARY_PATH": config(capsys, "link-dir")}
    build(sources, PROJECT_WITH_MODULE, f"-DCMAKE_MODULE_PATH={sources}", variables=places)
    loader = {"LD_LIBRARY_PATH": config(capsys, "lib-dir")}
    assert done(sources / "build" / "with_variables", variables=loader) == PRINTS


def test_without_options_it_prints_all(capsys: pytest.CaptureFixture[str]) -> None:
    lines = config(capsys).splitlines()
    assert [line.split()[0] for line in lines] == [f"--{name}" for name in OPTIONS]
    for name in ("prefix", "include-dir", "lib-dir", "link-dir", "cmake-dir", "pkg-config-dir"):
        assert Path(config(capsys, name)).is_dir()


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["config", "--help"])
    told = capsys.readouterr().out
    for word in ("--cmake-dir", "find_package(LevelZero)", "pkg-config --with-path", "LevelZero::LevelZero"):
        assert word in told


def test_an_incomplete_package_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="make build"):
        values(tmp_path)
