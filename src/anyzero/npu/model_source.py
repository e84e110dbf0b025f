"""Model sources: files of several formats, OpenVINO models, or bytes. All are converted to IR."""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from anyzero import errors

__all__ = ["ModelSource", "load"]

_INSTALL: Final = "pip install openvino, or convert the model to IR (model.xml and model.bin) on a machine that has it."
_NUMBERED: Final = re.compile(rb'name="(\w+)_\d+"(?= type="(\w+)")')
"""Layer names and types; OpenVINO generates names such as `Add_42` from a process-wide counter."""
_OTHERWISE: Final = {b"Constant": b"Const"}
"""Types whose name in memory differs from that in a file."""
_FRESH_NS: Final = 2_000_000_000
_READ_BY_OPENVINO: Final = (".onnx", ".pb", ".pbtxt", ".tflite", ".pdmodel", ".prototxt")


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model in IR, XML and weights separate; `batch` is the number of runs that a batch was split into."""

    name: str
    xml: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.uint8]
    batch: int = 1
    numbered: bool = False
    """True if OpenVINO named unnamed layers, with a process-wide counter."""

    files: tuple[Path, ...] = ()
    """The files, if the model is unchanged files."""

    def identity(self, *others: str) -> str | None:
        """A key of the files by their metadata, without reading them; None without files, or if they are too new.

        A file changed within the last seconds may change again with the same timestamps.
        """
        if not self.files:
            return None
        found = hashlib.sha256()
        for path in self.files:
            told = path.stat()
            if time.time_ns() - max(told.st_mtime_ns, told.st_ctime_ns) < _FRESH_NS:
                return None
            found.update(repr((told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns)).encode())
        for text in others:
            found.update(b"\0" + text.encode())
        return found.hexdigest()

    def digest(self, *others: str) -> str:
        """A key of its contents and of the other compilation inputs."""
        # SHA-256 has processor instructions, which makes it the fastest in hashlib.
        found = hashlib.sha256()
        xml = self.xml.tobytes()
        for part in (_NUMBERED.sub(_plain, xml) if self.numbered else xml, self.weights.data):
            found.update(len(part).to_bytes(8, "little"))
            found.update(part)
        for text in others:
            found.update(b"\0" + text.encode())
        return found.hexdigest()


def _plain(found: re.Match[bytes]) -> bytes:
    """A layer's name without a generated number."""
    word, kind = found.groups()
    return b'name="' + word + b'"' if _OTHERWISE.get(word, word) == kind else found[0]


def load(model: Any, weights: Any, *, apart: bool) -> ModelSource:
    """A model as IR; with `apart`, its batch is split into single items.

    Plain IR needs no OpenVINO in this Python. OpenVINO reads all other formats.
    """
    if isinstance(model, bytes | bytearray | memoryview):
        if apart:
            raise errors.InvalidArgument(
                "NPU_BATCH_MODE=PLUGIN needs a file or an openvino.Model, not bytes", remedy="Set NPU_BATCH instead."
            )
        xml = np.frombuffer(model, np.uint8)
        return ModelSource("model", xml, _empty() if weights is None else _array(weights))
    if isinstance(model, str | os.PathLike):
        path = Path(model)
        if path.suffix == ".xml" and not apart:
            beside = path.with_suffix(".bin")
            parts = _array(weights) if weights is not None else _map(beside) if beside.exists() else _empty()
            files = () if weights is not None else (path, beside) if beside.exists() else (path,)
            return ModelSource(path.stem, _map(path), parts, files=files)
        if path.suffix not in (".xml", *_READ_BY_OPENVINO):
            raise errors.InvalidArgument(
                f"{path} does not have the file extension of a model",
                remedy="Models are .xml, .onnx and other formats of OpenVINO; import_model() loads compiled ones.",
            )
        if not path.exists():
            raise FileNotFoundError(f"the model {path} does not exist")
        return _serialized(_openvino(f"to read {path.name}").Core().read_model(str(path)), apart)
    if type(model).__module__.partition(".")[0] == "openvino":
        return _serialized(model, apart)
    raise TypeError(f"a model is a file name, an openvino.Model, or IR as bytes, not {model!r}")


def _serialized(model: Any, apart: bool) -> ModelSource:
    openvino = _openvino("for an openvino.Model")
    batch = 1
    if apart:
        model, batch = _taken_apart(model)
    with tempfile.TemporaryDirectory(prefix="anyzero-") as folder:
        xml, weights = Path(folder, "model.xml"), Path(folder, "model.bin")
        openvino.serialize(model, str(xml), str(weights))
        # The mapping survives deletion of the files.
        return ModelSource(
            model.get_friendly_name(), _map(xml), _map(weights) if weights.exists() else _empty(), batch, numbered=True
        )


def _taken_apart(model: Any) -> tuple[Any, int]:
    """A copy of the model for one item of its batch, and the number of items; the model itself without a batch."""
    sides = {_first_side(port) for port in (*model.inputs, *model.outputs)}
    batch = sides.pop() if len(sides) == 1 else 0
    if batch <= 1:
        return model, 1
    single = model.clone()
    single.reshape({place: [1, *port.get_partial_shape()[1:]] for place, port in enumerate(single.inputs)})
    if any(_first_side(port) != 1 for port in single.outputs):
        raise errors.InvalidArgument(
            f"{model.get_friendly_name()} does not map a batch of 1 to a batch of 1, so its batch cannot be split",
            remedy="Leave out NPU_BATCH_MODE=PLUGIN.",
        )
    return single, batch


def _first_side(port: Any) -> int:
    shape = port.get_partial_shape()
    return int(shape[0].get_length()) if len(shape) and shape[0].is_static else 0


def _openvino(purpose: str) -> Any:
    try:
        import openvino
    except ImportError as error:
        raise errors.Unavailable(f"OpenVINO is needed {purpose}: {error}", remedy=_INSTALL) from None
    return openvino


def _empty() -> npt.NDArray[np.uint8]:
    return np.empty(0, np.uint8)


def _array(memory: Any) -> npt.NDArray[np.uint8]:
    if isinstance(memory, str | os.PathLike):
        return _map(Path(memory))
    data = getattr(memory, "data", memory)
    if isinstance(data, np.ndarray):
        return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    return np.frombuffer(memory, np.uint8)


def _map(path: Path) -> npt.NDArray[np.uint8]:
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return _empty()
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
