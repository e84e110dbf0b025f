"""A graph: the commands of two immediate lists are captured once, and replayed as one command.

The copy list joins the capture because it waits for a captured command. The compute list waits for it at the end.
"""

import tempfile
from pathlib import Path

import numpy as np

import anyzero as az

with az.device().context() as ctx:
    source = ctx.zeros(4096, np.uint8, kind="shared")
    middle = ctx.buffer(4096)
    target = ctx.zeros(4096, np.uint8, kind="shared")
    lst, copies = ctx.immediate(), ctx.immediate(kind="copy")

    with lst.capture() as graph:
        uploaded = lst.copy(middle, source)
        copied = copies.copy(target, middle, wait=uploaded)  # a fork
        lst.wait(copied)  # and its join
    assert not np.asarray(target).any()
    print("ok: captured commands do not run")

    runs = graph.instantiate()
    for step in (1, 2, 3):
        np.asarray(source)[:] = step
        lst.replay(runs).wait(timeout=20)
        assert (np.asarray(target) == step).all()
    print("ok: each execution runs both lists, on the current memory contents")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.dot")
        graph.dump(path)
        assert path.read_text().count("memory copy") == 2
    print("ok: the graph as a drawing for Graphviz")
