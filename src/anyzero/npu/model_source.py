"""Models as programs bring them: files of several kinds, OpenVINO's own, or bytes. All become IR."""

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

_INSTALL: Final = "pip install openvino, or convert the model to IR (model.xml and model.bin) where it is."
_NUMBERED: Final = re.compile(rb'name="(\w+)_\d+"(?= type="(\w+)")')
"""The names of layers, and their types; `Add_42` is one that OpenVINO gave, for the 42nd of all that it made."""
_OTHERWISE: Final = {b"Constant": b"Const"}
"""Types that have another name in memory than in a file."""
_FRESH_NS: Final = 2_000_000_000
_READ_BY_OPENVINO: Final = (".onnx", ".pb", ".pbtxt", ".tflite", ".pdmodel", ".prototxt")


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model in IR, its two parts apart; `batch` says into how many runs a batch was taken apart."""

    name: str
    xml: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.uint8]
    batch: int = 1
    numbered: bool = False
    """Whether layers without a name got one from OpenVINO, which counts them over the whole life of a process."""

    files: tuple[Path, ...] = ()
    """The files that it is, where it is nothing else."""

    def identity(self, *others: str) -> str | None:
        """A name for the files as they are now, which costs no reading; None where there are none, or fresh ones.

        A file that changed within the last seconds may change once more without its times telling.
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
        """A name for its contents, and for what else goes into compiling it."""
        # SHA-256 because processors have instructions for it, which makes it the fastest of hashlib's here.
        found = hashlib.sha256()
        xml = self.xml.tobytes()
        for part in (_NUMBERED.sub(_plain, xml) if self.numbered else xml, self.weights.data):
            found.update(len(part).to_bytes(8, "little"))
            found.update(part)
        for text in others:
            found.update(b"\0" + text.encode())
        return found.hexdigest()


def _plain(found: re.Match[bytes]) -> bytes:
    """A layer's name without its number, where that means nothing."""
    word, kind = found.groups()
    return b'name="' + word + b'"' if _OTHERWISE.get(word, word) == kind else found[0]


def load(model: Any, weights: Any, *, apart: bool) -> ModelSource:
    """A model as IR; with `apart`, a batch in it is taken apart into single items.

    Plain IR needs no OpenVINO in this Python. Everything else is read by OpenVINO itself.
    """
    if isinstance(model, bytes | bytearray | memoryview):
        if apart:
            raise errors.InvalidArgument(
                "NPU_BATCH_MODE=PLUGIN wants a file or an openvino.Model, not bytes", remedy="Set NPU_BATCH instead."
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
                f"{path} is no model by its name",
                remedy="Models are .xml, .onnx and what else OpenVINO reads; import_model() takes compiled ones.",
            )
        if not path.exists():
            raise FileNotFoundError(f"there is no model {path}")
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
        # What is mapped stays when the files are gone.
        return ModelSource(
            model.get_friendly_name(), _map(xml), _map(weights) if weights.exists() else _empty(), batch, numbered=True
        )


def _taken_apart(model: Any) -> tuple[Any, int]:
    """A copy of the model for one item of its batch, and how many there are; the model itself where it has no batch."""
    sides = {_first_side(port) for port in (*model.inputs, *model.outputs)}
    batch = sides.pop() if len(sides) == 1 else 0
    if batch <= 1:
        return model, 1
    single = model.clone()
    single.reshape({place: [1, *port.get_partial_shape()[1:]] for place, port in enumerate(single.inputs)})
    if any(_first_side(port) != 1 for port in single.outputs):
        raise errors.InvalidArgument(
            f"{model.get_friendly_name()} gives no single item for single items, so its batch is not of that kind",
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
