"""One first inference, in a process of its own, which `anyzero npu latency` starts several times.

python -m anyzero.tools.npu_probe MODEL SHAPES [KEY=VALUE …]
"""

from __future__ import annotations

import json
import re
import sys
import time
from typing import Any, Final

from anyzero.errors import InvalidArgument, Unavailable

__all__ = ["model_with", "settings_of", "shapes_of"]

_SHAPE: Final = re.compile(r"\s*([^\[\],]*?)\s*\[([\d\s,]*)\]\s*(?:,|$)")


def settings_of(pairs: list[str]) -> dict[str, str]:
    """A configuration from KEY=VALUE; raise InvalidArgument for any other form."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InvalidArgument(f"{pair!r} is not KEY=VALUE")
        found[key] = value
    return found


def shapes_of(text: str) -> dict[str, tuple[int, ...]]:
    """Shapes by input, from ``[1,3,224,224]`` for all inputs (the name is empty then) or ``ids[1,128],mask[1,128]``.

    >>> shapes_of("ids[1,128], mask[1,128]")
    {'ids': (1, 128), 'mask': (1, 128)}
    """
    found: dict[str, tuple[int, ...]] = {}
    at = 0
    while at < len(text):
        match = _SHAPE.match(text, at)
        if match is None:
            raise InvalidArgument(
                f"--shape {text!r}: no shape at {text[at:]!r}",
                remedy="Write [1,3,224,224], or one for each input: ids[1,128],mask[1,128].",
            )
        found[match[1]] = tuple(int(number) for number in match[2].split(",") if number.strip())
        at = match.end()
    if "" in found and len(found) > 1:
        raise InvalidArgument(f"--shape {text!r}: a shape without a name is for all inputs, and there are others")
    return found


def model_with(model: str, shapes: dict[str, tuple[int, ...]]) -> Any:
    """The model, its inputs given these shapes; the name of its file where there are none."""
    if not shapes:
        return model
    try:
        import openvino
    except ImportError as error:
        raise Unavailable(f"--shape needs OpenVINO: {error}", remedy="pip install openvino") from None
    read = openvino.Core().read_model(model)
    known = {name for port in read.inputs for name in port.names}
    unknown = shapes.keys() - known - {""}
    if unknown:
        raise InvalidArgument(f"the model has no input {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
    try:
        read.reshape(list(shapes[""]) if "" in shapes else {name: list(shape) for name, shape in shapes.items()})
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise InvalidArgument(f"the model's inputs cannot have these shapes: {reason}") from None
    return read


def main(model: str, shapes: str, pairs: list[str]) -> None:
    begun = time.perf_counter()
    from anyzero.npu import Core

    imported = time.perf_counter()
    core = Core()
    source = model_with(model, shapes_of(shapes))
    ready = time.perf_counter()
    is_blob = model.endswith(".blob")
    compiled = (core.import_model if is_blob else core.compile_model)(source, settings_of(pairs))
    built = time.perf_counter()
    request = compiled.create_infer_request()
    request.infer(share_outputs=True)
    inferred = time.perf_counter()
    request.infer(share_outputs=True)
    again = time.perf_counter()
    print(
        json.dumps(
            {
                "import": imported - begun,
                "start": ready - imported,
                "load": built - ready,
                "first": inferred - built,
                "second": again - inferred,
                "latency": inferred - ready,
                "from_cache": bool(compiled.get_property("LOADED_FROM_CACHE")),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
