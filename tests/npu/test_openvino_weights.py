"""Models with many megabytes of weights: retained memory and copies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.npu.conftest import Client, require_openvino

PREPARE = """
import sys
from pathlib import Path
from tests.npu import models
folder = Path(sys.argv[1])
ov.save_model(models.large(), folder / "large.xml", compress_to_fp16=False)
core = ov.Core()
made = core.compile_model(folder / "large.xml", "NPU")
blob = made.export_model()
(folder / "large.blob").write_bytes(blob if isinstance(blob, bytes) else blob.getvalue())
x = np.random.default_rng(0).standard_normal((1, 1024)).astype(np.float32)
ours, theirs = (model.create_infer_request() for model in (made, core.compile_model(folder / "large.xml", "CPU")))
for request in (ours, theirs):
    request.infer([x])
wanted = theirs.get_output_tensor().data
assert np.allclose(ours.get_output_tensor().data, wanted, atol=models.tolerance() * wanted.max())
np.savez(folder / "values.npz", x=x, y=wanted)
"""
GROWTH = """
import json, mmap, sys
from pathlib import Path
from tests.npu import models
def anonymous():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))
folder, way = Path(sys.argv[1]), sys.argv[2]
core = ov.Core()
for device in ("NPU", "CPU"):
    core.get_property(device, "FULL_DEVICE_NAME")
values = np.load(folder / "values.npz")
x, wanted = values["x"], values["y"]
before = anonymous()
if way == "import":
    with (folder / "large.blob").open("rb") as file:
        pages = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)
    made = core.import_model(ov.Tensor(pages, shared_memory=True), "NPU")
else:
    made = core.compile_model(folder / "large.xml", way)
request = made.create_infer_request()
request.infer([x])
grown = anonymous() - before
found = request.get_output_tensor().data
assert np.allclose(found, wanted, atol=models.tolerance() * wanted.max())
print(json.dumps({"grown": grown, "weights": (folder / "large.bin").stat().st_size}))
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Client, Path, int]:
    """A client whose driver has the model in its cache; files of the model, of its blob and of its results; and what a
    process grows by with the model on OpenVINO's CPU device.
    """
    require_openvino()
    folder = tmp_path_factory.mktemp("large")
    cache = folder / "models"
    cache.mkdir(mode=0o700)
    client = Client(cache)
    client.run(PREPARE, folder)
    return client, folder, json.loads(client.run(GROWTH, folder, "CPU"))["grown"]


@pytest.mark.parametrize("way", ["import", "NPU"])
def test_weights_are_not_copied(prepared: tuple[Client, Path, int], way: str) -> None:
    """OpenVINO's CPU device repacks weights; an import or a cache takes hardly more memory."""
    client, folder, bare = prepared
    found = json.loads(client.run(GROWTH, folder, way))
    assert found["grown"] - bare < found["weights"] / 5, (found, bare)
