"""Module and kernel creation, as the engine asks for it: bytes in, bytes out, and a status for everything."""

from __future__ import annotations

import gc
import os
import struct
import subprocess
import sys
import threading
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyzero import kernel_cache as cache
from anyzero import ze
from anyzero.compiler.compiled import Options
from anyzero.compiler.errors import CompileError
from anyzero.driver.modules import builds, container, plans, provenance, requests
from anyzero.driver.settings import settings as environment
from anyzero.layouts.module_requests import ConstantsReply, ConstantsRequest
from tests.compiler.samples import MODULES, many_kernels
from tests.patience import PATIENCE
from tests.unit.planning import (
    SUCCESS,
    VOID_FUNCTION,
    Compiler,
    Given,
    Reply,
    asked,
    build,
    create,
    entry,
    exporter,
    exports,
    importer,
    inspect,
    kernel,
    link,
    module,
    native,
    pretending,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    with pretending(tmp_path, monkeypatch) as made:
        yield made


def test_a_module_says_what_is_in_it_and_compiles_nothing(compiler: Compiler) -> None:
    built = build(MODULES["mixed"])
    assert (built.status, built.log) == (SUCCESS, "")
    assert built.kernels == ["mixed"]
    assert built.functions == exports(built.plan) == ["twice"]
    assert (built.imports, built.flags) == ([], 0)
    assert (built.globals, built.size, built.image) == ({}, 0, b"")
    assert compiler.calls == []


def test_variables_are_laid_out_without_compiling(compiler: Compiler) -> None:
    built = build(exporter("f"))
    assert built.globals == {"f_count": (0, 4)}
    assert (built.size, built.alignment, built.image, built.relocations) == (4, 4, struct.pack("<I", 7), [])
    assert compiler.calls == []
    assert sorted(exports(built.plan)) == ["f", "f_count"]


def test_a_thousand_kernels_are_ready_at_once(compiler: Compiler) -> None:
    data = many_kernels(1000, 50)
    built = build(data)
    assert len(built.kernels) == 1000
    assert compiler.calls == []


def test_only_imports_that_are_needed_count(compiler: Compiler) -> None:
    assert build(importer()).imports == ["outside"]
    assert build(importer()).flags == ze.ZE_MODULE_PROPERTY_FLAG_IMPORTS
    names, body = entry("main")
    unused = "%f = OpFunction %void None %void_function\nOpFunctionEnd\n"
    names += '\n    OpDecorate %f LinkageAttributes "llvm.usub.sat.i32" Import'
    built = build(module(unused + body, head=VOID_FUNCTION, names=names))
    assert (built.imports, built.flags) == ([], 0)
    assert create(built.plan, "main")[0] == SUCCESS


def test_a_kernel_becomes_a_container(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANYZERO_TARGET", raising=False)
    built = build(MODULES["saxpy"])
    status, log, data = create(built.plan, "saxpy")
    assert (status, log) == (SUCCESS, "")
    found = container.decode(data)
    assert found.kernel.name == "saxpy"
    assert [each.kind for each in found.kernel.arguments] == ["global", "global", "value", "value"]
    assert not found.function
    assert found.kernel_uuid != found.module_uuid
    (call,) = compiler.calls
    assert (call.name, call.options, call.linked) == ("saxpy", Options(), ())


def test_the_same_kernel_twice_is_compiled_once(compiler: Compiler) -> None:
    built = build(MODULES["saxpy"])
    assert create(built.plan, "saxpy") == create(built.plan, "saxpy")
    assert len(compiler.calls) == 1


@pytest.mark.parametrize("collecting", [True, False])
def test_the_collector_pauses_while_a_kernel_is_compiled(
    compiler: Compiler, collecting: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is as the program had it afterwards, also after an error."""
    before = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        create(build(MODULES["mixed"]).plan, "mixed")
        assert gc.isenabled() == collecting
        monkeypatch.setenv("ANYZERO_CACHE", "off")
        environment.cache_clear()
        compiler.fails = CompileError("no")
        create(build(MODULES["mixed"]).plan, "mixed")
        assert gc.isenabled() == collecting
    finally:
        (gc.enable if before else gc.disable)()
    assert [call.collecting for call in compiler.calls] == [False, False]


def test_another_module_of_the_same_kind_finds_the_kernel_on_disk(compiler: Compiler) -> None:
    first, second = build(MODULES["saxpy"]), build(MODULES["saxpy"])
    assert first.plan != second.plan
    assert create(first.plan, "saxpy") == create(second.plan, "saxpy")
    assert len(compiler.calls) == 1


@pytest.mark.parametrize("flags", ["-ze-opt-disable", "-g", "-ze-opt-large-register-file"])
def test_other_flags_are_another_kernel(compiler: Compiler, flags: str) -> None:
    for given_flags in ("", flags, flags):
        create(build((MODULES["saxpy"], given_flags, {})).plan, "saxpy")
    assert len(compiler.calls) == 2


def test_a_device_without_paging_has_kernels_of_its_own(compiler: Compiler) -> None:
    for pages in (True, False):
        create(build(MODULES["saxpy"], pages=pages).plan, "saxpy")
    assert [call.options.residency_checks for call in compiler.calls] == [False, True]


def test_no_cache_means_compiling_each_time(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYZERO_CACHE", "off")
    environment.cache_clear()
    for _ in range(2):
        create(build(MODULES["saxpy"]).plan, "saxpy")
    assert len(compiler.calls) == 2


def test_a_dump_compiles_what_the_cache_has(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    create(build(MODULES["saxpy"]).plan, "saxpy")
    monkeypatch.setenv("ANYZERO_DUMP", str(tmp_path / "dump"))
    environment.cache_clear()
    create(build(MODULES["saxpy"]).plan, "saxpy")
    assert len(compiler.calls) == 2


def test_more_memory_than_a_container_can_tell_is_a_refusal(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    for field, what in (("local_bytes", "local memory"), ("private_bytes", "private memory")):
        for amount, status in ((1 << 32) - 1, SUCCESS), (1 << 32, ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY):
            huge = kernel(name="saxpy", **{field: amount})
            monkeypatch.setattr(compiler, "compile_kernel", lambda *_, huge=huge: huge)
            monkeypatch.setenv("ANYZERO_CACHE", "off")
            environment.cache_clear()
            found, log, _ = create(build(MODULES["saxpy"]).plan, "saxpy")
            assert found == status
            assert not log or f'"saxpy" needs {amount} bytes of {what}' in log


def test_variables_larger_than_any_memory_are_a_refusal(compiler: Compiler) -> None:
    """Each of them may be; together they are too much."""
    head = """
    %n = OpConstant %i64 1152921504606846976
    %array = OpTypeArray %i32 %n
    %pointer = OpTypePointer CrossWorkgroup %array
"""
    head += "".join(f"    %v{i} = OpVariable %pointer CrossWorkgroup\n" for i in range(4))
    built = build(module("", head=head))
    assert built.status == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert "more than any memory" in built.log


def test_a_damaged_cache_is_rebuilt_in_silence(compiler: Compiler, tmp_path: Path) -> None:
    built = build(MODULES["saxpy"])
    expected = create(built.plan, "saxpy")
    for path in tmp_path.rglob("*.kernel"):
        path.write_bytes(path.read_bytes()[:-1])
    assert create(build(MODULES["saxpy"]).plan, "saxpy") == expected
    assert len(compiler.calls) == 2
    store = cache.of(environment())
    assert store is not None
    # Whole for the cache, and no container all the same.
    (key,) = plans.find(built.plan).keys.values()
    store.store(key, b"something else")
    assert create(build(MODULES["saxpy"]).plan, "saxpy") == expected
    assert len(compiler.calls) == 3


def test_flags_that_are_not_known_are_named_in_the_log(compiler: Compiler) -> None:
    built = build((MODULES["saxpy"], "-ze-opt-level=1 -ze-fly", {}))
    assert built.status == SUCCESS
    assert built.log == 'warning: the build flag "-ze-fly" is not known and has no effect'
    create(built.plan, "saxpy")
    assert compiler.calls[0].options.level == 1


def test_bad_environment_is_a_status(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYZERO_LANES", "7")
    environment.cache_clear()
    built = build(MODULES["saxpy"])
    assert built.status == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "ANYZERO_LANES='7'" in built.log


def test_specialization_constants_have_the_size_of_their_type(compiler: Compiler) -> None:
    values = {4: struct.pack("<I", 16), 5: b"\0", 6: struct.pack("<f", 2.5), 7: struct.pack("<q", -7)}
    reply = Reply(requests.constants(asked(ConstantsRequest([MODULES["special"], b"no module"]))))
    assert reply.status == SUCCESS
    special, other = ConstantsReply.read(reply.reader).modules
    assert {each.number: each.size for each in special.sizes} == {
        number: len(value) for number, value in values.items()
    }
    assert other.sizes == ()
    reply.end()
    built = build((MODULES["special"], "", values))
    assert (built.status, built.log) == (SUCCESS, "")
    assert create(built.plan, "special")[0] == SUCCESS
    found = compiler.calls[0].module
    assert {number: each.value for number, each in found.specializable.items()} == {
        4: 16,
        5: False,
        6: 2.5,
        7: (1 << 64) - 7,
    }
    assert found.kernels["special"].required_group_size == (16, 1, 1)
    constants = plans.find(built.plan).units[0].input.constants
    assert constants == (
        (4, struct.pack("<I", 16)),
        (5, b"\0"),
        (6, struct.pack("<f", 2.5)),
        (7, struct.pack("<q", -7)),
    )


def test_other_constants_are_another_kernel(compiler: Compiler) -> None:
    for value in (16, 32, 16):
        create(build((MODULES["special"], "", {4: struct.pack("<I", value)})).plan, "special")
    assert len(compiler.calls) == 2


def test_constants_that_do_not_exist_are_named_in_the_log(compiler: Compiler) -> None:
    built = build((MODULES["special"], "", {99: b"", 4: b"", 98: b"\1"}))
    assert built.status == SUCCESS
    assert "there is no specialization constant 98" in built.log
    assert "there is no specialization constant 99" in built.log
    assert "the specialization constant 4 has no value" in built.log


@pytest.mark.parametrize("data", [b"", b"short", b"not a module at all!", MODULES["saxpy"][:18], bytes(400)])
def test_what_is_no_spirv_is_an_invalid_binary(compiler: Compiler, data: bytes) -> None:
    built = build(data)
    assert built.status == ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
    assert built.log.startswith("error: word 0: header: ")


def test_bad_declarations_fail_the_build_with_the_word(compiler: Compiler) -> None:
    data = MODULES["saxpy"]
    model = struct.pack("<III", 3 << 16 | 14, 2, 2)  # OpMemoryModel Physical64 OpenCL
    at = data.index(model)
    built = build(data[:at] + struct.pack("<III", 3 << 16 | 14, 2, 1) + data[at + 12 :])  # GLSL450
    assert built.status == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert f"word {at // 4}: OpMemoryModel" in built.log


def bad_body() -> bytes:
    names, body = entry("bad", "%sum = OpIAdd %i32 %half %c1")
    more, fine = entry("fine")
    return module(body + fine, head=VOID_FUNCTION, names=names + more)


def test_a_bad_body_fails_only_its_own_kernel(compiler: Compiler) -> None:
    built = build(bad_body())
    assert built.status == SUCCESS
    status, log, _ = create(built.plan, "bad")
    assert status == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert "OpIAdd" in log
    assert "error: word " in log
    assert create(built.plan, "fine")[0] == SUCCESS
    assert [call.name for call in compiler.calls] == ["fine"]


def test_what_the_compiler_refuses_is_in_the_log(compiler: Compiler) -> None:
    compiler.fails = CompileError("is not supported", 77, "OpFly", "in f", log="and more")
    built = build(MODULES["saxpy"])
    status, log, _ = create(built.plan, "saxpy")
    assert status == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert log == "error: word 77: OpFly: is not supported (in f)\nand more"
    compiler.fails, compiler.log = None, "spills 8 bytes"
    assert create(built.plan, "saxpy")[:2] == (SUCCESS, "spills 8 bytes")


def test_what_nobody_foresaw_is_a_status_with_its_traceback(compiler: Compiler) -> None:
    built = build(MODULES["saxpy"])
    for surprise in (KeyError("where"), KeyboardInterrupt(), SystemExit(1)):
        compiler.fails = surprise  # type: ignore[assignment]
        status, log, _ = create(built.plan, "saxpy")
        assert status == ze.ZE_RESULT_ERROR_UNKNOWN
        assert "Traceback" in log
    compiler.fails = MemoryError()
    assert create(built.plan, "saxpy")[0] == ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY


def test_names_that_do_not_exist(compiler: Compiler) -> None:
    built = build(MODULES["saxpy"])
    status, log, _ = create(built.plan, "daxpy")
    assert status == ze.ZE_RESULT_ERROR_INVALID_KERNEL_NAME
    assert log == 'the module has no kernel "daxpy"; it has saxpy'
    status, log, _ = create(built.plan, "saxpy", kind=1)
    assert status == ze.ZE_RESULT_ERROR_INVALID_FUNCTION_NAME
    assert log == 'the module has no exported function "saxpy"; it has none'
    many = build(many_kernels(20, 1))
    assert "kernel_000007, … (20)" in create(many.plan, "other")[1]


def test_addresses_of_functions_are_for_the_compiler_to_give(compiler: Compiler) -> None:
    built = build(exporter("f"))
    status, log, _ = create(built.plan, "f", kind=1)
    assert status == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
    compiler.compile_function = lambda module, name, options, linked: kernel(name=name)  # type: ignore[attr-defined]
    status, log, data = create(built.plan, "f", kind=1)
    assert (status, log) == (SUCCESS, "")
    assert container.decode(data).function
    assert create(built.plan, "f", kind=2)[0] == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


def test_a_released_plan_is_gone(compiler: Compiler) -> None:
    first, second = build(MODULES["saxpy"]), build(MODULES["saxpy"])
    assert create(second.plan, "saxpy", released=[first.plan])[0] == SUCCESS
    assert create(first.plan, "saxpy")[0] == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert native(first.plan)[0] == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert link(first.plan)[0] == inspect(7, first.plan)[0] == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    third = build(MODULES["saxpy"], released=[second.plan, first.plan, 12345])
    assert create(second.plan, "saxpy")[0] == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert create(third.plan, "saxpy")[0] == SUCCESS


def test_two_modules_compile_side_by_side(compiler: Compiler) -> None:
    slow, quick = build(MODULES["saxpy"]), build(MODULES["mixed"])
    compiler.go.clear()
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(create(slow.plan, "saxpy")[0])) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert compiler.busy.wait(PATIENCE)
    compiler.busy.clear()
    other = threading.Thread(target=lambda: results.append(create(quick.plan, "mixed")[0]))
    other.start()
    # The other module's compiler runs while the first one's has not ended.
    assert compiler.busy.wait(PATIENCE)
    compiler.go.set()
    for thread in (*threads, other):
        thread.join(PATIENCE)
    assert results == [SUCCESS] * 3
    assert sorted(call.name for call in compiler.calls) == ["mixed", "saxpy"]


# Newer Pythons warn of exactly what is tried here.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent(compiler: Compiler) -> None:
    built = build(MODULES["saxpy"])
    compiler.go.clear()
    thread = threading.Thread(target=create, args=(built.plan, "saxpy"))
    thread.start()
    assert compiler.busy.wait(PATIENCE)
    child = os.fork()
    if child == 0:
        compiler.go.set()
        os._exit(0 if create(built.plan, "saxpy")[0] == SUCCESS else 1)
    compiler.go.set()
    thread.join(PATIENCE)
    assert os.waitpid(child, 0)[1] == 0


def test_importing_the_planner_does_not_load_llvm() -> None:
    code = "import sys, anyzero.driver.modules.requests; assert not {'llvmlite', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


FUNCTIONS = [requests.build, requests.compile, requests.native, requests.link, requests.inspect]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
@given(data=st.binary(max_size=120))
@settings(max_examples=60)
def test_any_request_gets_a_reply(function: object, data: bytes) -> None:
    reply = Reply(function(data))  # type: ignore[operator]
    assert isinstance(reply.status, int)
    assert "Traceback" not in reply.log


EXPECTED = {
    SUCCESS,
    ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY,
    ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
    ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED,
}


@st.composite
def changed(draw: st.DrawFn) -> bytes:
    """A good module with a few words that are not."""
    words = array("I", draw(st.sampled_from([*MODULES.values(), importer(), exporter()])))
    for _ in range(draw(st.integers(1, 4))):
        words[draw(st.integers(0, len(words) - 1))] = draw(st.one_of(st.integers(0, 60), st.integers(0, 0xFFFFFFFF)))
    return words.tobytes()


@given(changed(), st.booleans())
def test_bad_modules_get_a_status_and_a_reason(data: bytes, program: bool) -> None:
    with pytest.MonkeyPatch.context() as patch, pretending(Path("unused"), patch):
        patch.setenv("ANYZERO_CACHE", "off")
        environment.cache_clear()
        built = build(data, exporter("elsewhere")) if program else build(data)
        assert built.status in EXPECTED
        assert "Traceback" not in built.log
        assert bool(built.log) == (built.status != SUCCESS)
        for name in built.kernels:
            status, log, _ = create(built.plan, name)
            assert status in EXPECTED
            assert bool(log) == (status != SUCCESS)
            assert "Traceback" not in log


def test_a_log_shows_no_control_characters(compiler: Compiler) -> None:
    built = build(importer(imported="\\x1b[2J"))
    assert "\x1b" not in create(built.plan, "main")[1]
    assert "\N{REPLACEMENT CHARACTER}[2J" in create(built.plan, "main")[1]


@pytest.mark.parametrize("form", [2, 0xFFFFFFFF])
def test_an_unknown_format(compiler: Compiler, form: int) -> None:
    assert build(MODULES["saxpy"], form=form).status == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION


def test_no_input_at_all(compiler: Compiler) -> None:
    assert build().status == ze.ZE_RESULT_ERROR_INVALID_SIZE


def test_a_module_that_was_built_before_is_not_read_again(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = create(build(MODULES["saxpy"]).plan, "saxpy")
    with monkeypatch.context() as patch:
        patch.setattr(plans, "requested", None)
        again = build(MODULES["saxpy"])
        assert again.status == SUCCESS
        assert create(again.plan, "saxpy") == expected
    assert len(compiler.calls) == 1
    # What the disk does not have is made from the module after all.
    assert create(again.plan, "other")[0] == ze.ZE_RESULT_ERROR_INVALID_KERNEL_NAME
    assert list(plans.find(again.plan).module.kernels) == ["saxpy"]


def test_a_build_from_disk_is_forgotten_with_its_module(compiler: Compiler) -> None:
    build(MODULES["saxpy"])
    again = build(MODULES["saxpy"])
    assert builds.request_of(again.plan)
    build(MODULES["saxpy"], released=[again.plan])
    assert builds.request_of(again.plan) is None


def test_builds_are_told_apart(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    def known(*inputs: bytes | Given) -> bool:
        return builds.request_of(build(*inputs).plan) is not None

    assert not known(MODULES["saxpy"])
    assert known(MODULES["saxpy"])
    assert not known((MODULES["saxpy"], "-ze-opt-disable", {}))
    for change in ("llvm_files", "processor"):
        with monkeypatch.context() as patch:
            patch.setattr(provenance, change, lambda: "another")
            assert not known(MODULES["saxpy"])
    monkeypatch.setenv("ANYZERO_LANES", "4")
    environment.cache_clear()
    assert not known(MODULES["saxpy"])
