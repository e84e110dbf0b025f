"""One first inference, in a process of its own: what `anyzero npu latency` starts, several times.

python -m anyzero.tools.npu_probe MODEL [KEY=VALUE …]
"""

from __future__ import annotations

import json
import sys
import time

from anyzero.errors import InvalidArgument

__all__ = ["settings_of"]


def settings_of(pairs: list[str]) -> dict[str, str]:
    """A configuration from KEY=VALUE; raise InvalidArgument for what is not of that form."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InvalidArgument(f"{pair!r} is not KEY=VALUE")
        found[key] = value
    return found


def main(model: str, pairs: list[str]) -> None:
    begun = time.perf_counter()
    from anyzero.npu import Core

    imported = time.perf_counter()
    core = Core()
    ready = time.perf_counter()
    is_blob = model.endswith(".blob")
    compiled = (core.import_model if is_blob else core.compile_model)(model, settings_of(pairs))
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
    main(sys.argv[1], sys.argv[2:])
