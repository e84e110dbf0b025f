"""The generator: what it reads from the facts and the headers, and that what it writes compiles and agrees."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from anyzero import ze
from anyzero.ze import npu
from codegen import ctypes_package, entries, gaps, model, names, project, rules, scan, tables, values
from codegen.model import Api, Function, Param, Rule
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

# The least that the generated entry points expect of engine/abi.
HANDLE_H = """
#pragma once
#include <cstddef>
namespace anyzero {
// A handle that is no object of that kind, or no longer, is played by an odd address.
template <class T> T* checked(const void* handle) {
  return reinterpret_cast<size_t>(handle) & 1 ? nullptr : static_cast<T*>(const_cast<void*>(handle));
}
}
"""
USE_H = """
#pragma once
#include "handle.h"
namespace anyzero {
template <class T, unsigned> struct Using {
  T* object;
  explicit Using(const void* handle) : object(checked<T>(handle)) {}
  T* get() const { return object; }
  T* operator->() const { return object; }
  T& operator*() const { return *object; }
  explicit operator bool() const { return object; }
};
}
"""
ERROR_H = """
#pragma once
#include "gen/ze_api.h"
namespace anyzero {
inline ze_result_t fail(ze_result_t result, const char*, ...) { return result; }
inline ze_result_t bad_handle(ze_result_t result, const char*, const char*, const void*) { return result; }
}
"""
CALLS_H = """
#pragma once
#include <cstdint>
#include "../abi/gen/ze_api.h"
namespace anyzero {
inline bool is_watched() { return false; }
inline bool is_recording() { return false; }
template <class T> uint64_t as_word(const T&) { return 0; }
template <class T> uint64_t received(ze_result_t, T* const*) { return 0; }
struct Recorder {};
inline Recorder* recorder_alone() { return nullptr; }
struct CallRecord {
  explicit CallRecord(uint32_t, const void*) {}
  template <class... Words> void returned(Words...) {}
};
struct QuickCallRecord {
  QuickCallRecord(uint32_t, Recorder&) {}
  template <class... Words> void returned(Words...) {}
  template <class... Words> void returned_from_wait(Words...) {}
};
}
"""

VALIDATION_CALL_H = """
#pragma once
namespace anyzero {
struct CheckedCall {
  CheckedCall(const char*, const void*) {}
  explicit operator bool() const { return false; }
};
}
"""
HOOKS_H = """
#pragma once
#include "../abi/gen/ze_api.h"
namespace anyzero {
inline ze_result_t before_zeEventDestroy(ze_event_handle_t) { return ZE_RESULT_SUCCESS; }
inline void after_zeEventDestroy(ze_result_t, ze_event_handle_t) {}
inline void check_append(ze_command_list_handle_t, ze_event_handle_t, uint32_t, ze_event_handle_t*) {}
inline void check_appended(ze_command_list_handle_t) {}
inline void check_refused(ze_result_t, const char* = nullptr, const void* = nullptr) {}
inline void check_context(ze_command_list_handle_t, const void*) {}
inline void check_arguments(ze_command_list_handle_t, ze_kernel_handle_t, void* const*, ze_event_handle_t) {}
inline void check_alignment(const void*, size_t, const char*) {}
inline void check_structure(const void*, uint32_t, const char*) {}
}
"""
PASSING_H = """
#pragma once
#include "../abi/gen/ze_api.h"
namespace anyzero {
class CommandList;
class Event;
inline constexpr uint64_t brief(uint64_t timeout) { return timeout; }
inline bool may_pass() { return false; }
inline bool passes_zeEventDestroy(const Event&) { return false; }
inline bool passes_zeCommandListAppendBarrier(const CommandList&, const Event*, uint32_t, Event* const*) {
  return false;
}
inline bool passes_briefly_zeEventHostSynchronize(const Event&, uint64_t) { return false; }
}
"""


@pytest.fixture(scope="module")
def api() -> Api:
    return model.load(ROOT / "spec" / "level_zero_api.json")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    result = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def checkout(folder: Path, headers: dict[str, str]) -> Path:
    """Another checkout, with `headers` as engine/objects, and everything generated."""
    for name in ("spec", "codegen"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    given = {"engine/abi/handle.h": HANDLE_H, "engine/abi/use.h": USE_H, "engine/abi/error.h": ERROR_H}
    given["engine/trace/calls.h"] = CALLS_H
    given |= {"engine/validation/call.h": VALIDATION_CALL_H, "engine/validation/hooks.h": HOOKS_H}
    given["engine/validation/passing.h"] = PASSING_H
    for name, text in (given | headers).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    run(sys.executable, "-m", "codegen", cwd=folder)
    return folder


def amalgamation(folder: Path) -> Path:
    """Every generated source as one, which compiles far faster than each by itself."""
    generated = sorted((folder / "engine" / "abi" / "gen").glob("*.cpp"))
    source = folder / "all.cpp"
    source.write_text("".join(f'#include "{path}"\n' for path in generated))
    return source


# Fresh, complete, idempotent


def test_generating_twice_changes_nothing() -> None:
    first = {output.path: output.text for output in project.outputs(ROOT)}
    assert first == {output.path: output.text for output in project.outputs(ROOT)}


def test_check_names_stale_missing_and_left_over_files(tmp_path: Path) -> None:
    folder = checkout(tmp_path, {})
    run(sys.executable, "-m", "codegen", "--check", cwd=folder)
    gen = folder / "engine" / "abi" / "gen"
    (gen / "tables.h").write_text("edited")
    (gen / "checks.h").unlink()
    shutil.copy(gen / "entries_fence.cpp", gen / "entries_gone.cpp")
    (gen / "notes.txt").write_text("by hand")
    check = [sys.executable, "-m", "codegen", "--check"]
    result = subprocess.run(check, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == 1
    assert {line.rsplit("/", 1)[-1] for line in result.stdout.splitlines()} == {
        "tables.h",
        "checks.h",
        "entries_gone.cpp",
    }
    run(sys.executable, "-m", "codegen", cwd=folder)
    run(sys.executable, "-m", "codegen", "--check", cwd=folder)
    assert (gen / "notes.txt").exists()


def test_every_function_has_an_entry_a_slot_and_a_place_in_the_report(api: Api) -> None:
    texts = {output.path: output.text for output in project.outputs(ROOT)}
    sources = "".join(text for path, text in texts.items() if path.endswith(".cpp"))
    defined = {name for name in api.functions if f"ZE_APICALL {name}(" in sources}
    assert defined == api.functions.keys()
    in_tables = {slot.function for table in api.tables.values() for slot in table.slots}
    getters = {table.getter for table in api.tables.values()}
    assert in_tables | getters == api.functions.keys()
    core = {name for name in in_tables if model.namespace_of(name) == "ze"}
    assert all(f"| `{name}` |" in texts["docs/coverage.md"] for name in core)


# Types


@needs_compiler
def test_c_and_ctypes_agree_on_every_structure(api: Api, tmp_path: Path) -> None:
    extensions = model.load(ROOT / "spec" / "level_zero_npu_ext.json")
    structs = {**ctypes_package._structs(api), **extensions.structs, **extensions.table_structs}
    lines = []
    for name, fields in structs.items():
        offsets = [f"offsetof({name}, {field.name})" for field in fields]
        numbers = ", ".join(f"(size_t){text}" for text in (f"sizeof({name})", *offsets))
        lines.append(f'printf("{name}{" %zu" * (len(fields) + 1)}\\n", {numbers});')
    source = tmp_path / "sizes.c"
    source.write_text('#include <stdio.h>\n#include "ze_npu_ext.h"\nint main(void) {\n' + "\n".join(lines) + "}\n")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/engine/abi/gen"]
    run("gcc", *flags, source, "-o", tmp_path / "sizes")
    in_c = {line.split()[0]: [int(part) for part in line.split()[1:]] for line in run(tmp_path / "sizes").splitlines()}
    in_python = {}
    for name, fields in structs.items():
        type_ = getattr(npu, name) if hasattr(npu, name) else getattr(ze, name)
        in_python[name] = [ctypes.sizeof(type_), *(getattr(type_, str(field.name)).offset for field in fields)]
    assert len(in_c) > 150
    assert in_c == in_python


def test_every_structure_type_but_one_has_its_structure(api: Api) -> None:
    typed = {name for name, fields in ctypes_package._structs(api).items() if fields[0].name == "stype"}
    found = {name: ctypes_package.structure_type(api, name) for name in typed}
    assert {name for name, value in found.items() if value is None} == {
        "ze_base_cb_params_t",
        "ze_base_desc_t",
        "ze_base_properties_t",
    }
    values_ = set(model.enumerators(api.enums["ze_structure_type_t"]).values())
    # ze_device_properties_t has two: the second asks for another unit of its timer.
    assert values_ - set(found.values()) == {
        api.enums["ze_structure_type_t"]["ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2"]
    }


def test_structures_know_their_type() -> None:
    assert ze.ze_event_desc_t().stype == ze.ze_event_desc_t._stype_ != 0
    assert ze.ze_event_desc_t(stype=7).stype == 7
    assert npu.ze_graph_desc_2_t().stype == npu.ZE_STRUCTURE_TYPE_GRAPH_DESC_2 == 14
    assert npu.ze_command_queue_desc_npu_ext_2_t().stype == npu.ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC_NPU_EXT_2 == 2
    assert [element.stype for element in ze.ze_device_memory_properties_t.array(2)] == [7, 7]


# Headers


def test_methods_are_found_where_they_are_declared(tmp_path: Path) -> None:
    (tmp_path / "event.h").write_text(
        """
        class Fence;  // class Ghost { ze_result_t create(); };
        class Event final : public Object<Event, Kind::Event> {
         public:
          struct State { ze_result_t inner(int); };
          static ze_result_t create(EventPool& pool, const ze_event_desc_t* desc, ze_event_handle_t* handle);
          [[nodiscard]] ze_result_t hostSignal() { return submit(1); /* ze_result_t commented(); */ }
          ze_context_handle_t context();
          int other(int x = call(2));
        };
        """
    )
    found = scan.classes(tmp_path)
    assert found.keys() == {"Event", "State"}
    event = found["Event"]
    assert event.header == f"{tmp_path.name}/event.h"
    assert event.declares("ze_result_t", "create")
    assert event.declares("ze_result_t", "hostSignal")
    assert event.declares("ze_context_handle_t", "context")
    for absent in ("inner", "submit", "commented", "other"):
        assert not event.declares("ze_result_t", absent)


def test_names_follow_the_tables(api: Api) -> None:
    slots = {slot.function: (table, slot) for table in api.tables.values() for slot in table.slots}

    def spelled(function: str) -> str:
        table, slot = slots[function]
        return f"{names.class_of_table(table)}::{names.method_of_slot(slot)}"

    assert spelled("zeCommandListAppendMemoryCopy") == "CommandList::appendMemoryCopy"
    assert spelled("zeCommandListCreateCloneExp") == "CommandList::createCloneExp"
    assert spelled("zeInit") == "Global::init"
    assert spelled("zeMemAllocDevice") == "Mem::allocDevice"
    assert spelled("zeDriverRTASFormatCompatibilityCheckExt") == "Driver::rtasFormatCompatibilityCheckExt"
    assert names.class_of_handle(api, "ze_physical_mem_handle_t") == "PhysicalMem"
    assert names.class_of_handle(api, "ze_rtas_builder_exp_handle_t") == "RTASBuilder"
    # System management shares drivers and devices with the core, and nothing else.
    assert names.class_of_handle(api, "zes_device_handle_t") == "Device"
    assert names.class_of_handle(api, "zes_pwr_handle_t") == "SysmanPower"
    tables = {names.class_of_table(table) for table in api.tables.values()}
    assert {names.class_of_handle(api, handle) for handle in api.handles if handle.startswith("zes_")} <= tables


# Checks


def test_enums_are_checked_by_their_real_values(api: Api) -> None:
    [output] = values.outputs(api)
    known = "constexpr bool known"
    as_bits = "static_cast<uint32_t>(value)"
    assert f"{known}(ze_image_type_t value) {{ return {as_bits} <= ZE_IMAGE_TYPE_BUFFER; }}" in output.text
    assert "constexpr uint32_t known_ze_event_pool_flags = 0xf;" in output.text
    gappy = Api({"e_t": {"A": 1, "B": 2, "C": 5, "E_FORCE_UINT32": 9}}, {}, {}, (), {}, {}, {}, {}, {})
    assert values._known(gappy, "e_t").endswith("{ return value == A || value == B || value == C; }")
    from_one = Api({"e_t": {"A": 1, "B": 2}}, {}, {}, (), {}, {}, {}, {}, {})
    assert values._known(from_one, "e_t").endswith("{ return value >= A && value <= B; }")


def test_values_inside_descriptors_are_inputs_and_types_are_not(api: Api) -> None:
    def expressions(function: str) -> list[str]:
        return [value.expression for value in values.inputs(api, api.functions[function])]

    image = expressions("zeImageCreate")
    assert {"desc->flags", "desc->type", "desc->format.layout", "desc->format.x"} <= set(image)
    assert not any("stype" in text or "pNext" in text for text in image)
    assert expressions("zeDeviceGetProperties") == []
    assert expressions("zeInit") == ["flags"]
    # Only the bounds of this enum have names; every device reports a value between them.
    assert expressions("zeDriverRTASFormatCompatibilityCheckExp") == []
    [any_bits] = values.inputs(api, api.functions["zeInitDrivers"])
    assert values.unknown(api, any_bits).startswith("desc->flags != UINT32_MAX && ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`0 == size`", "0 == size"),
        ("`size % step != 0`", "step == 0 || size % step != 0"),
        ("`0 == desc->count`", "desc && (0 == desc->count)"),
        ("`(nullptr == desc) && (0 < size)`", "(nullptr == desc) && (0 < size)"),
        ("`size`", None),
        ("`0 == desc->count` unless asked", None),
        ("`required < size`", None),
        ("Size must be page aligned", None),
    ],
)
def test_rules_become_conditions(text: str, expected: str | None) -> None:
    desc = Param("desc", "const ze_event_pool_desc_t*", ("in", "optional"))
    sizes = (Param("size", "size_t", ("in",)), Param("step", "size_t", ("in",)))
    function = Function("zeX", (1, 0), (desc, *sizes), frozenset(), ())
    assert rules.condition(function, Rule("ZE_RESULT_ERROR_INVALID_SIZE", text)) == expected
    assert rules.condition(function, Rule("ZE_RESULT_SUCCESS", text)) is None


def test_checks_come_in_the_order_of_their_precedence(api: Api) -> None:
    # No class but these, each with every method.
    found = {name: everything(api, name) for name in ("CommandList", "Event", "Context", "Device", "EventPool")}

    def body(function: str) -> list[str]:
        [entry] = [e for t in entries.of_tables(api, found, "ze").values() for e in t if e.function.name == function]
        return [line.strip() for line in entry.lines()]

    fill = body("zeCommandListAppendMemoryFill")
    markers = ("Using<CommandList, 0>", "checked<Event>(hS", 'null_pointer("zeCommandListAppendMemoryFill", "ptr")')
    markers += ("broken_rule", "checked<Event>(phW", "return command_list->appendMemoryFill(")
    positions = [next(i for i, line in enumerate(fill) if marker in line) for marker in markers]
    assert positions == sorted(positions)
    sync, null = "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT", "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"
    assert any(line.startswith(f"if (hSignalEvent && !signal_event) return bad_handle({sync},") for line in fill)
    assert any(f"bad_handle(phWaitEvents[i] ? {sync} : {null}," in line for line in fill)
    assert any("pattern_size == 0 || size % pattern_size != 0" in line for line in fill)
    assert any(f"bad_handle({null}," in line for line in body("zeEventHostSignal"))
    pool = "return EventPool::create(*context, desc, numDevices, objects<Device>(phDevices), phEventPool);"
    assert pool in body("zeEventPoolCreate")


def everything(api: Api, name: str) -> scan.Class:
    """A class that declares every method the specification gives it."""
    slots = [s for t in api.tables.values() if t.namespace == "ze" and names.class_of_table(t) == name for s in t.slots]
    methods = frozenset((api.functions[slot.function].type, names.method_of_slot(slot)) for slot in slots)
    return scan.Class(name, f"{names.snake(name)}.h", methods)


# What is written, compiled


def full_headers(api: Api) -> Iterator[tuple[str, str]]:
    """For every noun a header that declares all its methods, with the parameters that engine/objects use."""
    classes = {names.class_of_handle(api, handle) for handle in api.handles if handle.startswith("ze_")}
    classes |= {names.class_of_table(table) for table in api.tables.values() if table.namespace == "ze"}
    forward = "".join(f"class {name};" for name in sorted(classes))
    for name in sorted(classes):
        methods = []
        for table in api.tables.values():
            if table.namespace == "ze" and names.class_of_table(table) == name:
                methods += [method(api, name, slot) for slot in table.slots]
        text = f"#pragma once\nnamespace anyzero {{ {forward}\nclass {name} {{ public:\n" + "\n".join(methods) + "};}\n"
        yield f"engine/objects/{names.snake(name)}.h", text


def method(api: Api, owner: str, slot: model.Slot) -> str:
    function = api.functions[slot.function]
    params, static = list(function.params), "static "
    if params and params[0].type in api.handles and names.class_of_handle(api, params[0].type) == owner:
        params, static = params[1:], ""
    listed = ", ".join(cpp_type(api, param) for param in params)
    return f"{static}{function.type} {names.method_of_slot(slot)}({listed}) {{ return {{}}; }}"


def cpp_type(api: Api, param: Param) -> str:
    if param.type in api.handles:
        return names.class_of_handle(api, param.type) + ("*" if param.optional else "&")
    if param.tags[0] == "in" and "out" not in param.tags and param.length and param.pointee in api.handles:
        return names.class_of_handle(api, param.pointee) + "* const*"
    return param.type


def build(folder: Path, extra: str = "") -> Path:
    library = folder / "library.so"
    source = amalgamation(folder)
    with source.open("a") as text:
        text.write(extra)
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden", "-shared", "-Wl,-Bsymbolic"]
    run("g++", *flags, source, "-o", library)
    return library


@pytest.fixture(scope="module")
def full(api: Api, tmp_path_factory: pytest.TempPathFactory) -> ze.Library:
    """The library of a checkout in which everything is implemented, and succeeds."""
    folder = checkout(tmp_path_factory.mktemp("full"), dict(full_headers(api)))
    core = (folder / "docs" / "coverage.md").read_text().partition("## System management")[0]
    assert "UNSUPPORTED_FEATURE |" not in core
    return ze.Library(build(folder))


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library of a checkout in which nothing is implemented."""
    folder = checkout(tmp_path_factory.mktemp("stubs"), {"engine/objects/.keep": ""})
    opened = """
        extern "C" ZE_APIEXPORT void* find(const char* name) { return anyzero::find_function(name); }
        extern "C" ZE_APIEXPORT const ze_handle_t* handle() { return &anyzero::ddi_handle; }
    """
    return ctypes.CDLL(str(build(folder, opened)))


LIVE, DEAD = 0x1000, 0x1001


@needs_compiler
def test_a_broken_call_gets_its_own_error_and_a_sound_one_its_method(full: ze.Library) -> None:
    size, sync, null = "ERROR_INVALID_SIZE", "ERROR_INVALID_SYNCHRONIZATION_OBJECT", "ERROR_INVALID_NULL_HANDLE"
    live, dead, empty = (ctypes.c_void_p * 1)(LIVE), (ctypes.c_void_p * 1)(DEAD), (ctypes.c_void_p * 1)()
    out = ctypes.byref(ctypes.c_void_p())

    def fill(list_=LIVE, ptr=LIVE, step=4, event=None, count=0, events=None):
        return full.zeCommandListAppendMemoryFill(list_, ptr, LIVE, step, 64, event, count, events)

    def pool(flags=0, count=1, number=0, devices=None):
        desc = ze.ze_event_pool_desc_t(flags=flags, count=count)
        return full.zeEventPoolCreate(LIVE, ctypes.byref(desc), number, devices, out)

    def image(**fields):
        format_ = ze.ze_image_format_t(layout=fields.pop("layout", 0))
        desc = ze.ze_image_desc_t(format=format_, **fields)
        return full.zeImageCreate(LIVE, LIVE, ctypes.byref(desc), out)

    def init(flags):
        desc = ze.ze_init_driver_type_desc_t(flags=flags)
        return full.zeInitDrivers(ctypes.byref(ctypes.c_uint32()), None, ctypes.byref(desc))

    enumeration, pointer = "ERROR_INVALID_ENUMERATION", "ERROR_INVALID_NULL_POINTER"
    expected = [
        (fill(), "SUCCESS"),
        (fill(event=LIVE, count=1, events=live), "SUCCESS"),
        (fill(list_=None), null),
        (fill(list_=DEAD, ptr=None), null),
        (fill(ptr=None, step=0), pointer),
        (fill(step=0), size),
        (fill(step=5), size),
        (fill(count=1), size),
        (fill(event=DEAD), sync),
        (fill(count=1, events=dead), sync),
        (fill(count=1, events=empty), null),
        (pool(), "SUCCESS"),
        (pool(number=1, devices=live), "SUCCESS"),
        (pool(flags=1 << 20, count=0), enumeration),
        (pool(count=0), size),
        (pool(number=1), size),
        (pool(number=1, devices=dead), null),
        (image(), "SUCCESS"),
        (image(type=77), enumeration),
        (image(layout=1000), enumeration),
        (init(ze.ZE_INIT_DRIVER_TYPE_FLAG_GPU), "SUCCESS"),
        (init(0xFFFFFFFF), "SUCCESS"),
        (init(0xFFFF), enumeration),
        (full.zeEventHostSignal(DEAD), null),
        (full.zeCommandListAppendSignalEvent(LIVE, DEAD), sync),
        (full.zeCommandListAppendSignalEvent(LIVE, None), null),
        (full.zeCommandListUpdateMutableCommandWaitEventsExp(LIVE, 1, 1, empty), "SUCCESS"),
        (full.zeCommandListAppendHostFunction(LIVE, None, None, None, None, 0, None), pointer),
    ]
    assert [ze.ze_result_t(found).name for found, _ in expected] == [f"ZE_RESULT_{name}" for _, name in expected]


@needs_compiler
def test_a_library_has_only_the_functions_of_the_api(full: ze.Library) -> None:
    assert full.zeInit is full.zeInit
    with pytest.raises(AttributeError, match="not a function"):
        _ = full.zeInitialise
    with pytest.raises(AttributeError, match="does not export zeInit"):
        _ = ze.Library("libc.so.6").zeInit


def result(name: str, api: Api) -> int:
    return api.enums["ze_result_t"][f"ZE_RESULT_{name}"]


@needs_compiler
def test_every_function_is_exported_and_says_that_it_is_not_there(api: Api, stubs: ctypes.CDLL) -> None:
    for name in api.functions:
        assert hasattr(stubs, name), name
    assert stubs.zeFenceReset(None) == result("ERROR_UNSUPPORTED_FEATURE", api)
    stubs.zeDriverGetDefaultContext.restype = ctypes.c_void_p
    assert stubs.zeDriverGetDefaultContext(None) is None
    stubs.find.restype = ctypes.c_void_p
    in_tables = {slot.function for table in api.tables.values() for slot in table.slots}
    for name in in_tables:
        assert stubs.find(name.encode()) == ctypes.cast(stubs[name], ctypes.c_void_p).value
    for name in (b"", b"zeFence", b"zeFenceResetX", b"zzz"):
        assert stubs.find(name) is None


@needs_compiler
def test_tables_are_filled_as_far_as_the_version_of_the_caller_goes(api: Api, stubs: ctypes.CDLL) -> None:
    untouched = 0xABAB

    def filled(table: str, version: tuple[int, int]) -> set[str]:
        slots = api.tables[table].slots
        room = (ctypes.c_size_t * len(slots))(*[untouched] * len(slots))
        assert stubs[api.tables[table].getter](version[0] << 16 | version[1], room) == 0
        return {slot.name for slot, value in zip(slots, room, strict=True) if value != untouched}

    pool = "ze_event_pool_dditable_t"
    everything_ = {slot.name for slot in api.tables[pool].slots}
    newest = {"pfnGetContextHandle", "pfnGetFlags"}
    assert filled(pool, (1, 0)) == everything_ - newest - {"pfnPutIpcHandle"}
    assert filled(pool, (1, 6)) == everything_ - newest
    assert filled(pool, (1, 99)) == everything_
    for reordered, since in gaps.REORDERED.items():
        assert filled(reordered, (since[0], since[1] - 1)) == set()
        assert filled(reordered, since) != set()
    for name, table in api.tables.items():
        assert filled(name, (1, 17)) == {slot.name for slot in table.slots}


@needs_compiler
def test_a_table_that_cannot_be_filled_is_refused(api: Api, stubs: ctypes.CDLL) -> None:
    room = (ctypes.c_size_t * 16)()
    assert stubs.zeGetFenceProcAddrTable(0x10000, None) == result("ERROR_INVALID_NULL_POINTER", api)
    for version in (0, 0xFFFF, 0x20000):
        assert stubs.zeGetFenceProcAddrTable(version, room) == result("ERROR_UNSUPPORTED_VERSION", api)
    assert not any(room)


@needs_compiler
def test_handles_carry_complete_tables(stubs: ctypes.CDLL, api: Api) -> None:
    stubs.handle.restype = ctypes.POINTER(ctypes.c_void_p * 4)
    for namespace, address in zip(model.NAMESPACES, stubs.handle().contents, strict=True):
        fields = api.table_structs[f"{namespace}_dditable_driver_t"]
        words = (ctypes.c_size_t * len(fields)).from_address(address)
        assert words[0] & 0xFFFFFFFF == api.enums["ze_api_version_t"]["ZE_API_VERSION_CURRENT"]
        assert words[0] >> 32 & 0xFF == 1
        assert all(words[1 : len(fields) - 1])


def test_tables_grow_only_at_their_end(api: Api) -> None:
    for table in api.tables.values():
        versions = [api.functions[slot.function].since for slot in table.slots]
        assert versions == sorted(versions) or table.type in gaps.REORDERED, table.type
    assert gaps.REORDERED.keys() <= api.tables.keys()
    assert tables._constant((1, 11)) in api.enums["ze_api_version_t"]
