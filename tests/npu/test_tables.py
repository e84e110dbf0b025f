"""The extensions' function tables as C programs call them: every version of a function, and wrong arguments to all."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openvino", reason="NOT TESTED: graphs need OpenVINO; pip install openvino")

import openvino as ov

import anyzero as az
from anyzero import ze
from anyzero.api.library import function
from anyzero.ze import npu
from tests.npu import models
from tests.patience import PATIENCE

TABLES = {
    npu.ZE_GRAPH_EXT_NAME: npu.ze_graph_dditable_ext_t,
    npu.ZE_PROFILING_DATA_EXT_NAME: npu.ze_graph_profiling_dditable_ext_t,
    npu.ZE_COMMAND_QUEUE_NPU_EXT_NAME: npu.ze_command_queue_npu_dditable_ext_t,
    npu.ZE_CONTEXT_NPU_EXT_NAME: npu.ze_context_npu_dditable_ext_t,
    npu.ZE_DRIVER_NPU_EXT_NAME: npu.ze_driver_npu_dditable_ext_t,
}
FUNCTIONS = [(name, field[0]) for name, table in TABLES.items() for field in table._fields_]
BAD = {
    ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
    ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER,
    ze.ZE_RESULT_ERROR_INVALID_SIZE,
}


@pytest.fixture(scope="module")
def ctx() -> Iterator[az.Context]:
    with az.device("npu").context() as made:
        yield made


@pytest.fixture(scope="module")
def tables(ctx: az.Context) -> dict[str, Any]:
    found = {}
    for name, kind in TABLES.items():
        address = ctypes.c_void_p()
        driver = ctx.device.driver.handle
        assert function("zeDriverGetExtensionFunctionAddress")(driver, name.encode(), ctypes.byref(address)) == 0
        found[name] = kind.from_address(address.value or 0)
    return found


@pytest.fixture(scope="module")
def graphs(tables: dict[str, Any]) -> Any:
    return tables[npu.ZE_GRAPH_EXT_NAME]


@pytest.fixture(scope="module")
def graph(ctx: az.Context, tmp_path_factory: pytest.TempPathFactory) -> az.Graph:
    path = tmp_path_factory.mktemp("models") / "mlp.xml"
    ov.serialize(models.mlp(), str(path), str(path.with_suffix(".bin")))
    return ctx.graph(path, cache=False)


def nothing(called: Any) -> list[Any]:
    """An argument of each type that means nothing."""
    return [kind() if issubclass(kind, ctypes._SimpleCData) else None for kind in called._argtypes_]


@pytest.mark.parametrize(("table", "field"), FUNCTIONS)
class TestNonsense:
    def test_nothing_at_all(self, tables: dict[str, Any], table: str, field: str) -> None:
        called = getattr(tables[table], field)
        assert called, field
        assert called(*nothing(type(called))) in BAD

    @pytest.mark.parametrize("handle", [0x10, 1 << 46, "event"])
    def test_a_handle_that_is_none_of_its_kind(
        self, ctx: az.Context, tables: dict[str, Any], table: str, field: str, handle: int | str
    ) -> None:
        called = getattr(tables[table], field)
        with ctx.event() as event:
            first = event.handle if handle == "event" else handle
            assert called(first, *nothing(type(called))[1:]) in BAD


class TestVersions:
    def test_of_properties(self, graphs: Any, graph: az.Graph) -> None:
        first, second, third = npu.ze_graph_properties_t(), npu.ze_graph_properties_2_t(), npu.ze_graph_properties_3_t()
        assert graphs.pfnGetProperties(graph.handle, ctypes.byref(first)) == 0
        assert graphs.pfnGetProperties2(graph.handle, ctypes.byref(second)) == 0
        assert graphs.pfnGetProperties3(graph.handle, ctypes.byref(third)) == 0
        assert first.numGraphArgs == second.numGraphArgs == third.numGraphArgs == len(graph.arguments)
        assert second.initStageRequired == third.initStageRequired == 0
        assert third.flags == npu.ZE_GRAPH_PROPERTIES_FLAG_COMPILED

    def test_of_arguments(self, graphs: Any, graph: az.Graph) -> None:
        first, second = npu.ze_graph_argument_properties_t(), npu.ze_graph_argument_properties_2_t()
        third = npu.ze_graph_argument_properties_3_t()
        for index, argument in enumerate(graph.arguments):
            assert graphs.pfnGetArgumentProperties(graph.handle, index, ctypes.byref(first)) == 0
            assert graphs.pfnGetArgumentProperties2(graph.handle, index, ctypes.byref(second)) == 0
            assert graphs.pfnGetArgumentProperties3(graph.handle, index, ctypes.byref(third)) == 0
            assert first.name == second.name == third.name == argument.name.encode()
            assert list(first.dims) == list(second.dims) == list(third.dims)
            assert list(third.dims)[: third.dims_count] == list(argument.shape)
        assert graphs.pfnGetArgumentProperties3(graph.handle, index + 1, ctypes.byref(third)) == (
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
        )

    def test_of_the_compiler(self, ctx: az.Context, graphs: Any) -> None:
        first, second = npu.ze_device_graph_properties_t(), npu.ze_device_graph_properties_2_t()
        assert graphs.pfnDeviceGetGraphProperties(ctx.device.handle, ctypes.byref(first)) == 0
        assert graphs.pfnDeviceGetGraphProperties2(ctx.device.handle, ctypes.byref(second)) == 0
        assert first.graphExtensionVersion == second.graphExtensionVersion == npu.ZE_GRAPH_EXT_VERSION_1_17
        assert (first.compilerVersion.major, first.compilerVersion.minor) >= (7, 27)

    def test_of_creation_and_of_binaries(self, ctx: az.Context, graphs: Any, graph: az.Graph) -> None:
        size, place = ctypes.c_size_t(), ctypes.POINTER(ctypes.c_uint8)()
        assert graphs.pfnGetNativeBinary2(graph.handle, ctypes.byref(size), ctypes.byref(place)) == 0
        whole = ctypes.string_at(place, size.value)
        copied, room = (ctypes.c_uint8 * size.value)(), ctypes.c_size_t(size.value)
        assert graphs.pfnGetNativeBinary(graph.handle, ctypes.byref(room), copied) == 0
        assert bytes(copied) == whole

        native = ctypes.addressof(copied)
        handle, log = ctypes.c_void_p(), ctypes.c_void_p()
        oldest = npu.ze_graph_desc_t(format=npu.ZE_GRAPH_FORMAT_NATIVE, inputSize=size.value, pInput=native)
        assert graphs.pfnCreate(ctx.handle, ctx.device.handle, ctypes.byref(oldest), ctypes.byref(handle)) == 0
        assert graphs.pfnDestroy(handle) == 0
        assert graphs.pfnDestroy(handle) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE

        copied[size.value // 2] ^= 1
        newest = npu.ze_graph_desc_2_t(format=npu.ZE_GRAPH_FORMAT_NATIVE, inputSize=size.value, pInput=native)
        made = graphs.pfnCreate3(
            ctx.handle, ctx.device.handle, ctypes.byref(newest), ctypes.byref(handle), ctypes.byref(log)
        )
        assert made == ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
        length = ctypes.c_uint32()
        assert graphs.pfnBuildLogGetString2(log, ctypes.byref(length), None) == 0
        text = ctypes.create_string_buffer(length.value)
        assert graphs.pfnBuildLogGetString2(log, ctypes.byref(length), text) == 0
        assert b"native blob cannot be loaded" in text.value
        again = ctypes.create_string_buffer(length.value)
        assert graphs.pfnBuildLogGetString(None, ctypes.byref(length), again) == 0
        assert again.value == text.value
        assert graphs.pfnBuildLogDestroy(log) == 0

    @pytest.mark.parametrize("name", TABLES)
    def test_of_the_way_to_a_table(self, ctx: az.Context, tables: dict[str, Any], name: str) -> None:
        table = ctypes.c_void_p()
        asked = npu.ze_driver_extension_npu_ext_t(name=name.encode(), ppFunctionAddress=ctypes.addressof(table))
        get = tables[npu.ZE_DRIVER_NPU_EXT_NAME].pfnGetExtension
        assert get(ctx.device.driver.handle, ctypes.byref(asked)) == 0
        assert table.value == ctypes.addressof(tables[name])
        asked.version = 2 << 16
        newer = ze.ZE_RESULT_ERROR_UNSUPPORTED_VERSION if name == npu.ZE_GRAPH_EXT_NAME else 0
        assert get(ctx.device.driver.handle, ctypes.byref(asked)) == newer
        asked.name = b"ZE_extension_of_no_kind"
        assert get(ctx.device.driver.handle, ctypes.byref(asked)) == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE


def table_of(ctx: az.Context, tables: dict[str, Any], version: int) -> Any:
    """The graph extension as a client of that version gets it."""
    table = ctypes.c_void_p()
    asked = npu.ze_driver_extension_npu_ext_t(
        name=npu.ZE_GRAPH_EXT_NAME.encode(), version=version, ppFunctionAddress=ctypes.addressof(table)
    )
    assert tables[npu.ZE_DRIVER_NPU_EXT_NAME].pfnGetExtension(ctx.device.driver.handle, ctypes.byref(asked)) == 0
    return npu.ze_graph_dditable_ext_t.from_address(table.value or 0)


class TestChains:
    """Extensions of a structure are read only if the client's version defines them."""

    @pytest.mark.parametrize("garbage", [0x10, 0xDEADBEEF00000001, (1 << 64) - 8])
    def test_clients_before_1_15_leave_anything_behind_arguments(
        self, ctx: az.Context, tables: dict[str, Any], graph: az.Graph, garbage: int
    ) -> None:
        for table in (tables[npu.ZE_GRAPH_EXT_NAME], table_of(ctx, tables, npu.ZE_GRAPH_EXT_VERSION_1_8)):
            third = npu.ze_graph_argument_properties_3_t(pNext=garbage)
            assert table.pfnGetArgumentProperties3(graph.handle, 0, ctypes.byref(third)) == 0
            assert third.name == graph.arguments[0].name.encode()
            for structure, ask in (
                (npu.ze_graph_argument_properties_2_t(pNext=garbage), table.pfnGetArgumentProperties2),
                (npu.ze_graph_argument_metadata_t(pNext=garbage), table.pfnGraphGetArgumentMetadata),
            ):
                assert ask(graph.handle, 0, ctypes.byref(structure)) == 0

    def test_clients_from_1_15_are_told_of_strides(
        self, ctx: az.Context, tables: dict[str, Any], graph: az.Graph
    ) -> None:
        strides = npu.ze_graph_argument_property_strides_t(stype=npu.ZE_STRUCTURE_TYPE_GRAPH_ARGUMENT_PROPERTY_STRIDES)
        for version, told in ((npu.ZE_GRAPH_EXT_VERSION_1_14, False), (npu.ZE_GRAPH_EXT_VERSION_1_15, True)):
            third = npu.ze_graph_argument_properties_3_t(pNext=ctypes.addressof(strides))
            table = table_of(ctx, tables, version)
            assert table.pfnGetArgumentProperties3(graph.handle, 0, ctypes.byref(third)) == 0
            assert strides.supportsDynamicStrides == told

    def test_a_chain_that_bites_its_tail_ends(self, ctx: az.Context, tables: dict[str, Any], graph: az.Graph) -> None:
        first, second = npu.ze_graph_input_hash_t(stype=999), npu.ze_graph_input_hash_t(stype=998)
        first.pNext, second.pNext = ctypes.addressof(second), ctypes.addressof(first)
        third = npu.ze_graph_argument_properties_3_t(pNext=ctypes.addressof(first))
        table = table_of(ctx, tables, npu.ZE_GRAPH_EXT_VERSION_1_15)
        assert table.pfnGetArgumentProperties3(graph.handle, 0, ctypes.byref(third)) == 0


def infer(ctx: az.Context, graph: az.Graph, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    buffers = graph.buffers()
    for argument in graph.inputs:
        np.asarray(buffers[argument.name])[...] = x
    with ctx.immediate() as lst:
        lst.execute(graph, buffers)
    return np.array(buffers[graph.outputs[0].name])


def test_an_evicted_graph_comes_back(ctx: az.Context, graphs: Any, graph: az.Graph) -> None:
    x = np.random.default_rng(1).standard_normal(graph.inputs[0].shape).astype(np.float32)
    before = infer(ctx, graph, x)
    assert graphs.pfnEvict(graph.handle) == 0
    assert np.array_equal(infer(ctx, graph, x), before)
    assert graphs.pfnEvict(graph.handle) == 0
    assert graphs.pfnGraphInitialize(graph.handle) == 0
    assert np.array_equal(infer(ctx, graph, x), before)


def test_a_list_initializes_a_graph(ctx: az.Context, graphs: Any, graph: az.Graph) -> None:
    """In its place among the list's commands: behind what it waits for, and before what waits for it."""
    x = np.random.default_rng(2).standard_normal(graph.inputs[0].shape).astype(np.float32)
    expected = infer(ctx, graph, x)
    buffers = graph.buffers()
    np.asarray(buffers[graph.inputs[0].name])[...] = x
    assert graphs.pfnEvict(graph.handle) == 0
    with ctx.event() as gate, ctx.event() as ready, ctx.command_list() as lst:
        waits = (ctypes.c_void_p * 1)(gate.handle)
        assert graphs.pfnAppendGraphInitialize(lst.handle, graph.handle, ready.handle, 1, waits) == 0
        lst.execute(graph, buffers)
        lst.end()
        with ctx.queue() as queue:
            submitted = queue.submit(lst)
            assert not ready.done
            gate.signal()
            submitted.wait(timeout=PATIENCE)
        assert ready.done
    assert np.array_equal(np.asarray(buffers[graph.outputs[0].name]), expected)


def test_a_list_that_only_copies_takes_no_graph(ctx: az.Context, graphs: Any, graph: az.Graph) -> None:
    copies = next(index for index, group in enumerate(ctx.device.queue_groups) if not group.compute)
    desc = ze.ze_command_list_desc_t(commandQueueGroupOrdinal=copies)
    handle = ctypes.c_void_p()
    create, destroy = function("zeCommandListCreate"), function("zeCommandListDestroy")
    assert create(ctx.handle, ctx.device.handle, ctypes.byref(desc), ctypes.byref(handle)) == 0
    refused = ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE
    assert graphs.pfnAppendGraphInitialize(handle, graph.handle, None, 0, None) == refused
    assert graphs.pfnAppendGraphExecute(handle, graph.handle, None, None, 0, None) == refused
    assert destroy(handle) == 0


def test_runtime_requirements(ctx: az.Context, graph: az.Graph) -> None:
    size, desc = ctypes.c_size_t(), ze.ze_runtime_requirements_graph_desc_t(requirementsSrc=graph.handle)
    desc.stype = ze.ZE_STRUCTURE_TYPE_RUNTIME_REQUIREMENTS_GRAPH_DESC
    ask, judge = function("zeDeviceGetRuntimeRequirements"), function("zeDeviceValidateRuntimeRequirements")
    device = ctx.device.handle
    assert ask(device, ctypes.byref(desc), ctypes.byref(size), None) == 0
    text = ctypes.create_string_buffer(size.value)
    assert ask(device, ctypes.byref(desc), ctypes.byref(size), text) == 0
    verdicts = {}
    for given in (text.value, text.value + b"0", text.value.partition(b";")[0], b"ANOTHER.DRIVER"):
        found = ze.ze_validate_runtime_requirements_output_t()
        assert judge(device, given, ctypes.byref(found)) == 0
        verdicts[given] = found.result
    assert list(verdicts.values()) == [
        ze.ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_REQUIREMENTS_MET,
        ze.ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_REQUIREMENTS_NOT_MET,
        ze.ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_REQUIREMENTS_MET,
        ze.ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_NOT_APPLICABLE,
    ]
    desc.requirementsSrc = device
    assert ask(device, ctypes.byref(desc), ctypes.byref(size), None) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


def test_memory_of_a_context(ctx: az.Context, graphs: Any, graph: az.Graph) -> None:
    def ask(kind: int) -> tuple[int, int]:
        answer = npu.ze_graph_memory_query_t()
        assert graphs.pfnQueryContextMemory(ctx.handle, kind, ctypes.byref(answer)) == 0
        return answer.total, answer.allocated

    bytes_of_it = len(graph.native)
    total, used = ask(npu.ZE_GRAPH_QUERY_MEMORY_PROGRAM_CACHE)
    assert total >= used >= bytes_of_it
    assert ask(npu.ZE_GRAPH_QUERY_MEMORY_DDR)[1] >= bytes_of_it
    assert ask(npu.ZE_GRAPH_QUERY_MEMORY_DRIVER_CACHE)[0] > 0
    unknown = graphs.pfnQueryContextMemory(ctx.handle, 99, ctypes.byref(npu.ze_graph_memory_query_t()))
    assert unknown == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION


def test_options(ctx: az.Context, graphs: Any) -> None:
    def knows(option: bytes, value: bytes | None = None) -> bool:
        supported: Callable[..., int] = graphs.pfnCompilerIsOptionSupported
        return supported(ctx.device.handle, npu.ZE_NPU_COMPILER_OPTIONS, option, value) == 0

    size = ctypes.c_size_t()
    listed = graphs.pfnCompilerGetSupportedOptions
    assert listed(ctx.device.handle, npu.ZE_NPU_COMPILER_OPTIONS, ctypes.byref(size), None) == 0
    text = ctypes.create_string_buffer(size.value)
    assert listed(ctx.device.handle, npu.ZE_NPU_COMPILER_OPTIONS, ctypes.byref(size), text) == 0
    assert b"NPU_PLATFORM" in text.value.split()
    assert all(knows(option) for option in text.value.split())
    assert knows(b"NPU_MODEL_SERIALIZER_VERSION", b"NO_WEIGHTS_COPY")
    assert not knows(b"NPU_MODEL_SERIALIZER_VERSION", b"FROM_THE_FUTURE")
    assert knows(b"ENABLE_WEIGHTLESS")
    assert knows(b"WS_COMPILE_CALL_NUMBER")
    assert not knows(b"NPU_WITHOUT_A_NAME")
    assert not knows(b"NPU_")


def test_workload_types(ctx: az.Context, tables: dict[str, Any]) -> None:
    set_type = tables[npu.ZE_COMMAND_QUEUE_NPU_EXT_NAME].pfnSetWorkloadType
    with ctx.queue() as queue:
        assert set_type(queue.handle, npu.ZE_WORKLOAD_TYPE_BACKGROUND) == 0
        assert set_type(queue.handle, npu.ZE_WORKLOAD_TYPE_DEFAULT) == 0
        assert set_type(queue.handle, 7) == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION


def test_strides_count_elements(ctx: az.Context, graphs: Any, graph: az.Graph) -> None:
    """An input that takes every other row of a larger array."""
    shape = graph.inputs[0].shape
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    expected = infer(ctx, graph, x)
    spread = ctx.zeros((*shape[:-1], 2 * shape[-1]), np.float32, kind="host")
    np.asarray(spread)[..., ::2] = x
    strides = npu.ze_graph_argument_value_strides_t()
    width = 2
    for axis in reversed(range(len(shape))):
        strides.userStrides[axis] = width
        width *= shape[axis]
    tensor = npu.ze_graph_argument_value_tensor_t(
        pTensor=spread.pointer, pNext=ctypes.cast(ctypes.pointer(strides), ctypes.c_void_p)
    )
    out = graph.buffers()[graph.outputs[0].name]
    with ctx.immediate() as lst:
        assert graphs.pfnSetArgumentValue2(graph.handle, 0, ctypes.byref(tensor)) == 0
        assert graphs.pfnSetArgumentValue(graph.handle, 1, out.pointer) == 0
        assert graphs.pfnAppendGraphExecute(lst.handle, graph.handle, None, None, 0, None) == 0
        lst.synchronize()
    assert np.array_equal(np.asarray(out), expected)
