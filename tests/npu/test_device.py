"""The NPU device through the Python API: its place among devices, its memory and queues, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.npu.discovery import discover, looks_like_openvino


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH that looks as if OpenVINO were installed in it."""
    return looks_like_openvino(tmp_path_factory.mktemp("site"))


class TestDevice:
    def test_names_and_the_default(self, site: Path) -> None:
        discover(
            site,
            """
            import anyzero as az
            assert [device.backend for device in az.devices()] == ["cpu", "npu"]
            assert az.device().backend == "cpu"
            device = az.device("npu")
            assert device == az.device("npu:0") == az.device(1) == az.devices()[1]
            assert device.type == "npu" and device.driver != az.device().driver
            assert device.max_group_size == device.local_memory == device.image_limits.side_2d == 0
            assert device.sub_group_sizes == ()
            assert not device.can_access(az.device()) and not az.device().can_access(device)
            assert device.can_access(device)
            try:
                az.device("npu:1")
            except az.DeviceNotFound as error:
                assert "1 or npu:0: anyzero NPU" in str(error), error
            else:
                raise AssertionError("there is one too many")
            """,
        )
        program = "import anyzero as az; assert az.device().backend == 'npu'"
        discover(site, program, ANYZERO_DEVICE="npu")
        discover(site, program, ANYZERO_DEVICES="npu")

    @pytest.mark.parametrize("devices", ["cpu,npu", "npu"])
    def test_memory_copies_and_events(self, site: Path, devices: str) -> None:
        discover(
            site,
            """
            import numpy as np, anyzero as az
            with az.device("npu").context() as ctx:
                for kind in ("compute", "copy"):
                    source = ctx.to_device(np.arange(100_000, dtype=np.float32))
                    there = ctx.empty(source.shape, np.float32)
                    back = ctx.zeros(source.shape, np.float32, kind="host")
                    copied, = ctx.events(1, timing=True)
                    with ctx.command_list(kind=kind) as commands:
                        commands.copy(there, source, signal=copied)
                        commands.copy(back, there, wait=copied)
                    with ctx.queue(kind=kind) as queue:
                        queue.submit(commands).wait(200)
                    assert np.array_equal(np.asarray(back), np.arange(100_000, dtype=np.float32))
                    assert copied.done and copied.kernel_ns >= 0
                free = ctx.device.memory_free
                held = ctx.empty(1 << 20, np.uint8)
                assert free - ctx.device.memory_free >= 1 << 20
            """,
            ANYZERO_DEVICES=devices,
        )

    def test_kernels_and_images_are_refused_in_words(self, site: Path) -> None:
        discover(
            site,
            """
            import numpy as np, anyzero as az
            from pathlib import Path
            def refused(made, said):
                try:
                    made()
                except (az.UnsupportedFeature, az.UnsupportedSize) as error:
                    assert said in str(error), error
                else:
                    raise AssertionError("it was made")
            saxpy = Path(az.__file__).parent / "tools" / "saxpy.spv"
            with az.device("npu").context() as ctx:
                refused(lambda: ctx.module(saxpy), "executes graphs and runs no kernels")
                refused(lambda: ctx.sampler(), "no samplers")
                refused(lambda: ctx.image((4, 4), np.uint8), "")
            """,
        )

    def test_other_drivers_objects_are_noticed(self, site: Path) -> None:
        discover(
            site,
            """
            import anyzero as az
            with az.device("cpu").context() as ctx:
                try:
                    ctx.queue(device=az.device("npu"))
                except az.InvalidArgument as error:
                    assert "not one of this context's devices" in str(error)
                else:
                    raise AssertionError("a queue of another driver")
            """,
        )

    def test_system_management_lists_it(self, site: Path) -> None:
        discover(
            site,
            """
            from tests.abi.sysman import Sysman
            # Installed packages are looked up in this process, where the folder is on the path.
            ze.Library(LIBRARY)
            s = Sysman()
            drivers = s.several("zesDriverGet")
            assert len(drivers) == 2
            (device,) = s.several("zesDeviceGet", drivers[1])
            seen = s.query("zesDeviceGetProperties", "zes_device_properties_t", device)
            assert seen.core.type == ze.ZE_DEVICE_TYPE_VPU
            assert bytes(seen.modelName).startswith(b"anyzero NPU")
            for things in ("EngineGroups", "FrequencyDomains", "PowerDomains", "TemperatureSensors", "Fans"):
                s.several(f"zesDeviceEnum{things}", device)
            assert len(s.several("zesDeviceEnumMemoryModules", device)) == 1
            """,
        )

    def test_info_shows_it(self, site: Path) -> None:
        program = "from anyzero.tools.cli import main; sys.exit(main(['info', '-v']))"
        shown = discover(site, program)
        assert "driver 1: Level Zero" in shown
        assert "anyzero NPU (" in shown
        assert "none: it executes graphs" in shown
        assert "ZE_extension_graph 1.17" in shown
        discover(site, "from anyzero.tools.cli import main; sys.exit(main(['info', '--json']))", ANYZERO_DEVICES="npu")
