"""Start-up on the NPU: by a call, by `anyzero run`, by a path; and caches across processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.examples.blocks import blocks
from tests.npu.conftest import ROOT, Client
from tests.thorough import every

LIBRARIES = ROOT / "src" / "anyzero" / "lib"
ANYZERO = [sys.executable, "-m", "anyzero.tools"]
"""The `anyzero` command."""

PLAIN = """
import sys, openvino as ov
core = ov.Core()
print(*core.available_devices)
if "NPU" in core.available_devices:
    from tests.npu import models
    case = models.case("mlp")
    inputs = case.inputs()
    request = core.compile_model(case.build(), "NPU").create_infer_request()
    request.infer(inputs)
    case.check([request.get_output_tensor().data], inputs)
    print("ok", "anyzero" in sys.modules)
"""


def test_by_a_call(client: Client) -> None:
    said = client.run("print(*ov.Core().available_devices)")
    assert "NPU" in said.split()


def test_the_call_may_come_after_the_import(client: Client) -> None:
    program = "import openvino as ov, anyzero; anyzero.enable_openvino(); print(*ov.Core().available_devices)"
    done = client.start([sys.executable, "-c", program])
    assert done.returncode == 0, done.stderr
    assert "NPU" in done.stdout.split()


def test_by_anyzero_run(client: Client) -> None:
    """The program itself does not use anyzero."""
    done = client.start([*ANYZERO, "run", sys.executable, "-c", PLAIN])
    assert done.returncode == 0, done.stderr
    devices, ok = done.stdout.splitlines()
    assert "NPU" in devices.split()
    assert ok.startswith("ok")


def test_by_the_path_of_the_loader(client: Client) -> None:
    search = os.pathsep.join(filter(None, [str(LIBRARIES), os.environ.get("LD_LIBRARY_PATH")]))
    done = client.start([sys.executable, "-c", PLAIN], LD_LIBRARY_PATH=search)
    assert done.returncode == 0, done.stderr
    assert "NPU" in done.stdout.splitlines()[0].split()


WRAPPINGS = [("npu", "1"), ("npu", "0"), ("cpu,npu", "0"), ("cpu,npu", "1")]


@pytest.mark.parametrize(("devices", "wrapped"), every(2, WRAPPINGS))
def test_beside_other_devices(client: Client, devices: str, wrapped: str) -> None:
    """With two drivers the loader wraps handles, and extension functions are given wrapped ones."""
    done = client.start(
        [*ANYZERO, "run", sys.executable, "-c", PLAIN], ANYZERO_DEVICES=devices, ZE_ENABLE_LOADER_INTERCEPT=wrapped
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].startswith("ok")


def test_without_the_npu_there_is_none(client: Client) -> None:
    done = client.start([*ANYZERO, "run", sys.executable, "-c", PLAIN], ANYZERO_DEVICES="cpu")
    assert done.returncode == 0, done.stderr
    assert "NPU" not in done.stdout.split()


def test_beside_our_own_api(client: Client) -> None:
    """One process computes with both."""
    client.run("""
        import anyzero as az
        from tests.npu import models
        case = models.case("mlp")
        inputs = case.inputs()
        request = ov.Core().compile_model(case.build(), "NPU").create_infer_request()
        with az.device("cpu").context() as ctx:
            x = ctx.to_device(np.arange(1024, dtype=np.float32))
            request.infer(inputs)
            case.check([request.get_output_tensor().data], inputs)
            y = ctx.zeros(x.shape, x.dtype, kind="shared")
            with ctx.immediate() as lst:
                lst.copy(y, x).wait()
            assert (np.asarray(y) == np.arange(1024)).all()
            request.infer(inputs)
        case.check([request.get_output_tensor().data], inputs)
    """)


def test_the_page(client: Client) -> None:
    """Code that starts OpenVINO's plugin runs in a process of its own."""
    shown = [
        block
        for block in blocks(ROOT / "docs" / "npu.md")
        if block.marker == ("run by", "tests/npu/test_openvino_start.py")
    ]
    shown = [block for block in shown if block.language == "python"]
    assert shown
    for block in shown:
        done = client.start([sys.executable, "-c", block.text])
        assert done.returncode == 0, done.stderr
        assert done.stdout == block.expected


def test_benchmark_app(client: Client, tmp_path: Path) -> None:
    """The program that comes with OpenVINO, unmodified."""
    client.run(
        "import sys; from tests.npu import models; ov.save_model(models.mlp(), sys.argv[1])", tmp_path / "mlp.xml"
    )
    app = "import sys; from openvino.tools.benchmark.main import main; sys.exit(main())"
    done = client.start(
        [
            *ANYZERO,
            "run",
            sys.executable,
            "-c",
            app,
            "-m",
            tmp_path / "mlp.xml",
            "-d",
            "NPU",
            "-niter",
            "200",
            "-hint",
            "tput",
        ]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Throughput:" in done.stdout
    assert int(done.stdout.rpartition("Count:")[2].split()[0]) >= 200


def test_cache_folder_in_another_process(client: Client, tmp_path: Path) -> None:
    """OpenVINO's own cache holds our blobs, and a later process finds them."""
    program = """
        import sys
        from tests.npu import models
        case = models.case("residual")
        made = ov.Core().compile_model(case.build(), "NPU", {"CACHE_DIR": sys.argv[1]})
        inputs = case.inputs()
        request = made.create_infer_request()
        request.infer(inputs)
        case.check([request.get_output_tensor().data], inputs)
        print(made.get_property("LOADED_FROM_CACHE"))
    """
    assert [client.run(program, tmp_path / "ov").strip() for _ in range(2)] == ["False", "True"]


def test_blob_in_another_process(client: Client, tmp_path: Path) -> None:
    client.run(
        """
        import sys
        from pathlib import Path
        from tests.npu import models
        made = ov.Core().compile_model(models.case("transformer").build(), "NPU").export_model()
        Path(sys.argv[1]).write_bytes(made if isinstance(made, bytes) else made.getvalue())
        """,
        tmp_path / "blob",
    )
    client.run(
        """
        import sys
        from pathlib import Path
        from tests.npu import models
        case = models.case("transformer")
        request = ov.Core().import_model(Path(sys.argv[1]).read_bytes(), "NPU").create_infer_request()
        inputs = case.inputs()
        request.infer(inputs)
        case.check([request.get_output_tensor().data], inputs)
        """,
        tmp_path / "blob",
    )


def test_the_driver_keeps_models(client: Client) -> None:
    """Without any wish of the program, a model that was compiled before is not planned and laid out again."""
    program = """
        from tests.npu import models
        case = models.case("residual")
        inputs = case.inputs()
        request = ov.Core().compile_model(case.build(), "NPU").create_infer_request()
        request.infer(inputs)
        case.check([request.get_output_tensor().data], inputs)
    """
    client.run(program)
    kept = {path: path.stat().st_ino for path in client.cache.rglob("*") if path.is_file()}
    assert kept
    client.run(program)
    assert {path: path.stat().st_ino for path in client.cache.rglob("*") if path.is_file()} == kept


def test_a_damaged_cache_is_made_anew(client: Client) -> None:
    program = """
        from tests.npu import models
        case = models.case("mlp")
        inputs = case.inputs()
        request = ov.Core().compile_model(case.build(), "NPU").create_infer_request()
        request.infer(inputs)
        case.check([request.get_output_tensor().data], inputs)
    """
    client.run(program)
    kept = [path for path in client.cache.rglob("*") if path.is_file() and path.stat().st_size > 1000]
    assert kept
    for path in kept:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
    client.run(program)
