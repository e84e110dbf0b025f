"""`anyzero spirv`: what it prints of modules, good and bad ones."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from anyzero.tools.cli import main
from tests.patience import PATIENCE

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
MATMUL = str(KERNELS / "matmul.spv")
HASH = str(KERNELS / "hash.spv")

Capture = pytest.CaptureFixture[str]


def spirv(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = main(["spirv", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ([], "anyzero_kernel:"),
        (["--llvm"], 'target triple = "x86_64'),
        (["--ir"], "define internal i32 @region0"),
        (["--body"], "body hash\nblock 0:\n"),
    ],
)
def test_a_kernel_in_every_form(capsys: Capture, form: list[str], shown: str) -> None:
    code, out, err = spirv(capsys, "asm", HASH, *form)
    assert (code, err) == (0, "")
    assert shown in out


def test_a_kernel_after_a_pass_in_each_version(capsys: Capture) -> None:
    code, out, err = spirv(capsys, "asm", MATMUL, "matmul_int", "--after", "linearise", "--cpu", "haswell")
    assert (code, err) == (0, "")
    assert [line for line in out.splitlines() if line.startswith(";")] == [
        "; general after linearise",
        "; strips after linearise",
    ]
    assert spirv(capsys, "asm", HASH, "--after", "residency-checks")[1].endswith(" does not run for this kernel\n")
    code, _, err = spirv(capsys, "asm", HASH, "--after", "nothing")
    assert (code, err) == (1, "anyzero: error: there is no pass nothing; anyzero spirv passes lists them\n")


def test_the_passes_are_listed(capsys: Capture) -> None:
    code, out, _ = spirv(capsys, "passes")
    names = [line.split()[0] for line in out.splitlines() if not line.startswith(" ")]
    assert (code, names[0], names[-1]) == (0, "translate", "machine-code")
    assert max(map(len, out.splitlines())) <= 80


def test_what_is_asked_for_outranks_the_compiler(capsys: Capture) -> None:
    _, one, _ = spirv(capsys, "asm", HASH, "--ir", "--lanes", "1")
    _, many, _ = spirv(capsys, "asm", HASH, "--ir", "--lanes", "8")
    assert "<8 x i32>" in many
    assert "<8 x i32>" not in one
    _, old, _ = spirv(capsys, "asm", HASH, "--cpu", "x86-64")
    assert "ymm" not in old


def test_build_flags_are_taken_as_they_are_and_unknown_ones_are_named(capsys: Capture) -> None:
    code, out, err = spirv(capsys, "asm", HASH, "--options", "-ze-opt-level=0 -what")
    assert code == 0
    assert out != spirv(capsys, "asm", HASH)[1]
    assert err == 'anyzero: warning: the build flag "-what" is not known and has no effect\n'
    assert spirv(capsys, "asm", HASH, "--options", "-ze-opt-disable")[0] == 0


def test_of_several_kernels_one_must_be_named(capsys: Capture) -> None:
    code, out, err = spirv(capsys, "asm", MATMUL)
    assert (code, out.split()) == (2, ["matmul_int", "matmul_size_t", "matmul_tiled"])
    assert "which of the 3 kernels?" in err
    assert err.count("\n") == 1
    code, out, _ = spirv(capsys, "asm", MATMUL, "matmul_tiled")
    assert code == 0
    assert "anyzero_kernel:" in out


def test_output_goes_to_a_file(capsys: Capture, tmp_path: Path) -> None:
    assert spirv(capsys, "asm", HASH, "--output", str(tmp_path / "hash.s")) == (0, "", "")
    assert (tmp_path / "hash.s").read_text() == spirv(capsys, "asm", HASH)[1]
    assert spirv(capsys, "dis", HASH, "--output", str(tmp_path / "hash.spvasm")) == (0, "", "")
    assert "OpEntryPoint Kernel" in (tmp_path / "hash.spvasm").read_text()


def test_a_module_as_text(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    code, from_file, err = spirv(capsys, "dis", HASH)
    assert (code, err) == (0, "")
    assert from_file.startswith("; SPIR-V 1.4")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(HASH).read_bytes())))
    assert spirv(capsys, "dis", "-")[1] == from_file


def test_facts_for_people(capsys: Capture) -> None:
    code, out, _ = spirv(capsys, "info", MATMUL)
    assert code == 0
    assert "capabilities    Addresses, Linkage, Kernel, Int64" in out
    assert "required: 16 × 16 × 1" in out
    assert "3: int, 4 bytes" in out
    assert "one by one" in out


def test_facts_for_programs(capsys: Capture) -> None:
    code, out, _ = spirv(capsys, "info", MATMUL, "matmul_tiled", "--json", "--lanes", "8")
    assert code == 0
    (kernel,) = json.loads(out)["kernels"]
    assert (kernel["name"], kernel["lanes"], kernel["lanes_because"]) == ("matmul_tiled", 8, "as asked for")
    assert (kernel["local_bytes"], kernel["barriers"], kernel["required_group_size"]) == (2048, True, [16, 16, 1])
    assert [each["type"] for each in kernel["arguments"]] == ["global float*"] * 3 + ["int"]
    assert 100 < kernel["code_bytes"] < 100_000


def reason(capsys: Capture, kernel: str, file: str) -> tuple[int, str]:
    (found,) = json.loads(spirv(capsys, "info", str(KERNELS / file), kernel, "--json")[1])["kernels"]
    return found["lanes"], found["lanes_because"]


def test_why_there_are_so_many_lanes(capsys: Capture) -> None:
    lanes, why = reason(capsys, "spmv", "spmv.spv")
    assert lanes > 1 or why.startswith("a vector would not pay")
    lanes, why = reason(capsys, "hash", "hash.spv")
    assert lanes > 8
    assert "of floats; blocks are chosen at run time" in why
    assert "a sub-group is a vector register" in reason(capsys, "shuffles", "sub_groups.spv")[1]


BAD = [
    (["dis", "/nowhere/x.spv"], "cannot read /nowhere/x.spv: No such file"),
    (["info", "."], "cannot read .: Is a directory"),
    (["info", str(KERNELS / "hash.cl")], "header"),
    (["asm", HASH, "nope"], "there is no kernel nope; there are hash"),
    (["asm", HASH, "--cpu", "z80"], "z80 is no x86-64 processor"),
    (["asm", HASH, "--output", "/nowhere/x.s"], "cannot write /nowhere/x.s"),
]


@pytest.mark.parametrize(("arguments", "expected"), BAD)
def test_errors_are_one_line(capsys: Capture, arguments: list[str], expected: str) -> None:
    code, out, err = spirv(capsys, *arguments)
    assert (code, out) == (1, "")
    assert expected in err
    assert err.startswith("anyzero: error: ")
    assert err.count("\n") == 1


def test_damage_is_an_error_and_no_traceback(capsys: Capture, tmp_path: Path) -> None:
    whole = Path(HASH).read_bytes()
    for length in range(0, len(whole), 148):
        (tmp_path / "cut.spv").write_bytes(whole[:length])
        for command in ("info", "asm", "dis"):
            code, _, err = spirv(capsys, command, str(tmp_path / "cut.spv"))
            assert code in (0, 1, 2)
            assert err.count("\n") <= 1


def test_a_kernel_that_fails_is_told_and_the_others_are_shown(capsys: Capture) -> None:
    code, out, _ = spirv(capsys, "info", MATMUL, "--cpu", "z80")
    assert code == 1
    assert out.count("fails") == 3


@pytest.mark.parametrize("command", ["asm", "dis", "info"])
def test_help_teaches(capsys: Capture, command: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["spirv", command, "--help"])
    out = capsys.readouterr().out
    assert caught.value.code == 0
    assert "examples:" in out
    assert max(map(len, out.splitlines())) <= 120
    assert main(["spirv"]) == 0
    assert f"anyzero spirv {command}" in capsys.readouterr().out


def test_a_reader_that_leaves_early_is_no_error() -> None:
    arguments = [sys.executable, "-m", "anyzero.tools", "spirv", "dis", str(KERNELS / "maths.spv")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline().startswith("; SPIR-V")
        child.stdout.close()
        assert child.wait(timeout=PATIENCE) == 0
        assert child.stderr.read() == ""
