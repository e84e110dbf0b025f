"""The NPU driver and its device: what they say, who sees them, and what they do without a graph.

Nothing here compiles a model, so a folder that looks like an installed OpenVINO will do, and these tests run on
machines without one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from anyzero import installed, ze
from anyzero.config import ConfigError
from anyzero.driver.devices import compute_driver, npu_driver
from anyzero.installed import OpenVINO
from anyzero.ze import npu_constants as npu
from tests.npu.conftest import ROOT
from tests.npu.discovery import discover, looks_like_openvino
from tests.unit.described import HOST, ReadDevice, Reader, read

OPENVINO = OpenVINO("2026.4.1", "/site/openvino", "/site/openvino/libs/libopenvino_c.so.2641")
GPU, NPU = 1, 2


def npu_of(seen: Reader) -> ReadDevice:
    (device,) = seen.drivers[-1].devices
    assert seen.drivers[-1].kind == NPU
    return device


class TestDescription:
    def test_it_comes_with_openvino_and_not_without(self) -> None:
        assert [driver.kind for driver in read().drivers] == [GPU]
        assert [driver.kind for driver in read(openvino=OPENVINO).drivers] == [GPU, NPU]

    @pytest.mark.parametrize(
        ("devices", "kinds"),
        [("cpu", [GPU]), ("npu", [NPU]), ("npu,cpu", [GPU, NPU]), ("cpu,npu:threads=1", [GPU, NPU])],
    )
    def test_the_variable_outranks_what_is_installed(self, devices: str, kinds: list[int]) -> None:
        assert [driver.kind for driver in read(openvino=OPENVINO, devices=devices).drivers] == kinds

    def test_asking_for_it_without_openvino_is_refused_with_the_remedy(self) -> None:
        with pytest.raises(
            ConfigError, match=r"OpenVINO 2026\.4 or newer.*not installed: pip install '(anyzero|\.)\[npu\]'"
        ):
            read(devices="cpu,npu")

    @pytest.mark.parametrize(
        ("found", "said"),
        [
            (OpenVINO("2025.3.0", "/o", "/o/libs/libopenvino_c.so.2530"), r"2025\.3\.0 in /o is older than 2026\.4"),
            (OpenVINO("2026.4.1", "/o", ""), "has no C library"),
        ],
    )
    def test_an_openvino_that_is_not_enough_counts_as_none(self, found: OpenVINO, said: str) -> None:
        assert [driver.kind for driver in read(openvino=found).drivers] == [GPU]
        with pytest.raises(ConfigError, match=said):
            read(openvino=found, devices="npu")

    def test_the_plugin_finds_the_identity_and_the_extensions_that_it_looks_for(self) -> None:
        driver = read(openvino=OPENVINO).drivers[-1]
        (properties,) = driver.blobs[ze.ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES].structures(ze.ze_driver_properties_t)
        assert bytes(properties.uuid.id).hex() == "017de9316b4d4fd4aa9b5bed77fc8e89"
        assert bytes(properties.uuid.id) != compute_driver.UUID
        assert properties.driverVersion == npu_driver.VERSION > 0
        listed = {Reader.string(name): (version >> 16, version & 0xFFFF) for name, version in driver.extensions}
        assert len(listed) == len(driver.extensions)
        wanted = {
            npu.ZE_GRAPH_EXT_NAME: (1, 17),
            npu.ZE_PROFILING_DATA_EXT_NAME: (1, 0),
            npu.ZE_COMMAND_QUEUE_NPU_EXT_NAME: (1, 1),
            npu.ZE_CONTEXT_NPU_EXT_NAME: (1, 0),
            npu.ZE_DRIVER_NPU_EXT_NAME: (1, 0),
            ze.ZE_MUTABLE_COMMAND_LIST_EXP_NAME: (1, 1),
            ze.ZE_EXTERNAL_MEMORY_MAPPING_EXT_NAME: (1, 0),
        }
        assert wanted.items() <= listed.items()
        # Unsupported functions.
        assert ze.ZE_IMAGE_COPY_EXT_NAME not in listed
        assert ze.ZE_SUBGROUPS_EXT_NAME not in listed

    def test_the_device_is_an_npu_with_the_processor_in_its_name(self) -> None:
        seen = npu_of(read(openvino=OPENVINO)).properties
        assert seen.type == ze.ZE_DEVICE_TYPE_VPU
        assert seen.name == b"anyzero NPU (Test Processor 9)"
        assert seen.deviceId == 0x7D1D
        assert seen.numSlices == 1
        uuids = [bytes(driver.devices[0].properties.uuid.id) for driver in read(openvino=OPENVINO).drivers]
        assert len(set(uuids)) == 2
        assert uuids == [bytes(driver.devices[0].properties.uuid.id) for driver in read(openvino=OPENVINO).drivers]

    def test_its_timer_is_in_nanoseconds_and_in_hertz(self) -> None:
        device = npu_of(read(openvino=OPENVINO))
        assert device.properties.timerResolution == 1
        newer = device.get(ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2, ze.ze_device_properties_t)
        assert newer.timerResolution == 1_000_000_000

    @pytest.mark.parametrize(
        ("devices", "threads", "groups"),
        [("npu", 8, [(3, 1), (2, 1)]), ("npu:threads=3,copy=2", 8, [(3, 1), (2, 2)]), ("cpu,npu:copy=0", 2, [(3, 1)])],
    )
    def test_one_queue_for_graphs(self, devices: str, threads: int, groups: list[tuple[int, int]]) -> None:
        device = npu_of(read(openvino=OPENVINO, devices=devices, threads=threads))
        stype = ze.ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES
        assert [
            (each.flags, each.numQueues) for each in device.all(stype, ze.ze_command_queue_group_properties_t)
        ] == groups

    def test_memory_is_its_own_or_the_machine_s(self) -> None:
        def memory(**config: Any) -> int:
            stype = ze.ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES
            device = npu_of(read(openvino=OPENVINO, **config))
            return int(device.get(stype, ze.ze_device_memory_properties_t).totalSize)

        assert memory() == HOST.memory
        assert memory(devices="cpu,npu:memory=2G") == 2 << 30

    def test_no_structure_has_a_field_that_the_specification_lacks(self) -> None:
        from anyzero.config import Config
        from anyzero.driver.devices import boot

        plan = boot.compose(Config(), HOST, OPENVINO)
        blobs = [blob for driver in plan.drivers for blob in (*driver.blobs, *driver.devices[0].blobs)]
        assert len(blobs) > 40
        for blob in blobs:
            for structure in blob.structures:
                assert not vars(structure), type(structure).__name__

    def test_a_profile_dresses_compute_devices_only(self) -> None:
        plain, dressed = (read(openvino=OPENVINO, profile=name).drivers[-1] for name in ("default", "intel-gpu"))
        assert plain.blobs == dressed.blobs
        assert plain.devices[0].blobs == dressed.devices[0].blobs

    def test_the_engine_is_told_where_models_are_compiled_and_kept(self) -> None:
        seen = read(openvino=OPENVINO, cache_dir="/some/folder", npu_cache_size=5 << 20)
        assert seen.settings["npu_cache_bytes"] == 5 << 20
        assert seen.texts == {
            "openvino": os.fsencode(OPENVINO.library),
            "openvino_version": b"2026.4.1",
            "npu_cache": b"/some/folder/npu",
        }
        assert read(openvino=OPENVINO, npu_cache_size=0).settings["npu_cache_bytes"] == 0
        assert read(openvino=OPENVINO, cache=False).settings["npu_cache_bytes"] == 0
        assert read(openvino=OPENVINO, devices="cpu").texts == {}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH that looks as if OpenVINO were installed in it."""
    return looks_like_openvino(tmp_path_factory.mktemp("site"))


class TestStart:
    def test_each_kind_of_driver_can_be_asked_for(self, site: Path) -> None:
        discover(
            site,
            """
            GPU, VPU = ze.ZE_DEVICE_TYPE_GPU, ze.ZE_DEVICE_TYPE_VPU
            assert types(1) == [GPU] and types(2) == [VPU] and types(3) == types(2**32 - 1) == [GPU, VPU]
            """,
        )

    @pytest.mark.parametrize(("flag", "kind"), [("GPU_ONLY", "GPU"), ("VPU_ONLY", "VPU")])
    def test_the_older_way_lists_what_was_asked_for(self, site: Path, flag: str, kind: str) -> None:
        discover(
            site,
            f"""
            az = Calls(init=False)
            az.ok("zeInit", ze.ZE_INIT_FLAG_{flag})
            (driver,) = az.several("zeDriverGet")
            (device,) = az.several("zeDeviceGet", driver)
            seen = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, device)
            assert seen.type == ze.ZE_DEVICE_TYPE_{kind}
            az.ok("zeInit", 0)
            assert len(az.several("zeDriverGet")) == 2
            """,
        )

    @pytest.mark.parametrize(("devices", "missing", "flag"), [("npu", 1, "GPU_ONLY"), ("cpu", 2, "VPU_ONLY")])
    def test_a_driver_that_is_not_shown_is_not_found(self, site: Path, devices: str, missing: int, flag: str) -> None:
        discover(
            site,
            f"""
            az = Calls(init=False)
            az.error(UNINITIALIZED, "zeInit", ze.ZE_INIT_FLAG_{flag})
            assert types({missing}) == [] and len(types(3)) == 1
            """,
            ANYZERO_DEVICES=devices,
        )

    def test_without_openvino_the_start_says_what_to_install(self, tmp_path: Path) -> None:
        # A package without libraries hides one that is installed.
        (tmp_path / "openvino").mkdir()
        (tmp_path / "openvino" / "__init__.py").touch()
        said = discover(tmp_path, "import anyzero; anyzero.devices()", expect=1, ANYZERO_DEVICES="npu")
        assert "[npu]'" in said
        discover(tmp_path, "assert types(3) == [ze.ZE_DEVICE_TYPE_GPU]")

    def test_identifiers_and_the_default_context_work_with_the_npu_alone(self, site: Path) -> None:
        discover(
            site,
            """
            az = Calls()
            runtime = ctypes.CDLL(str(LIBRARY))
            for name in ("zerGetDefaultContext", "zerTranslateIdentifierToDeviceHandle"):
                getattr(runtime, name).restype = c_void_p
            assert runtime.zerGetDefaultContext()
            number = runtime.zerTranslateDeviceHandleToIdentifier(az.device)
            assert runtime.zerTranslateIdentifierToDeviceHandle(number) == az.device.value
            """,
            ANYZERO_DEVICES="npu",
        )

    def test_looking_for_openvino_asks_the_system_twice_a_folder(
        self, site: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Checks for a package with a library; imports nothing and opens no file."""
        asked = []
        for owner, name in ((os, "listdir"), (os.path, "isfile")):
            ask = getattr(owner, name)
            monkeypatch.setattr(owner, name, lambda path, ask=ask: (asked.append(path), ask(path))[1])
        crowd = [str(ROOT), *(f"/nowhere/{number}" for number in range(50))]
        for path, expected in ((crowd, None), ([*crowd, str(site)], "2026.4.1")):
            asked.clear()
            found = installed.openvino(path)
            assert (found and found.version) == expected
            assert len(asked) <= 2 * len(path)


class TestLoader:
    def test_our_loader_shows_both_drivers_and_passes_the_extension_on(self, site: Path) -> None:
        discover(
            site,
            """
            from pathlib import Path
            az = Calls(init=False)
            az.lib = ze.Library(Path(LIBRARY).with_name("libze_loader.so.1"))
            # The planner runs in this process, where the folder is on the path.
            ze.Library(LIBRARY)
            az.ok("zeInit", 0)
            compute, inference = az.several("zeDriverGet")
            seen = [bytes(az.query("zeDriverGetProperties", ze.ze_driver_properties_t, each).uuid.id)
                    for each in (compute, inference)]
            assert seen[1].hex() == "017de9316b4d4fd4aa9b5bed77fc8e89" != seen[0].hex()
            table = c_void_p()
            az.ok("zeDriverGetExtensionFunctionAddress", inference, b"ZE_extension_graph", byref(table))
            assert table.value
            find = "zeDriverGetExtensionFunctionAddress"
            az.error(INVALID_ARGUMENT, find, compute, b"ZE_extension_graph", byref(table))
            """,
        )
