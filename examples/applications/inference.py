"""Inference with OpenVINO's own API on the NPU of this package: a small network classifies pictures of shapes."""

import sys

import numpy as np

try:
    import openvino as ov
    from openvino import opset13 as op
except ImportError as error:
    print(f"skipped: {error}; pip install 'anyzero[npu]'")
    sys.exit()

import anyzero as az

az.enable_openvino()  # from here on, "NPU" is a device of OpenVINO's

NAMES = ("horizontal stripes", "vertical stripes", "flat")

# Two filters measure how much the brightness changes downwards and sideways; the third class wins where neither does.
filters = np.zeros((2, 1, 2, 2), np.float32)
filters[0, 0] = [[1, 1], [-1, -1]]
filters[1, 0] = [[1, -1], [1, -1]]
image = op.parameter([1, 1, 16, 16], np.float32, name="image")
edges = op.abs(op.convolution(image, op.constant(filters), [1, 1], [0, 0], [0, 0], [1, 1]))
strength = op.reduce_mean(edges, op.constant(np.array([2, 3])), keep_dims=False)
scores = op.concat([strength, op.constant(np.full((1, 1), 0.2, np.float32))], 1)
likely = op.softmax(op.multiply(scores, op.constant(np.float32(10))), 1)
model = ov.Model([likely], [image], "shapes")  # pyright: ignore[reportGeneralTypeIssues] (OpenVINO's own stubs)

compiled = ov.Core().compile_model(model, "NPU")
rows, columns = np.indices((16, 16))
pictures = {NAMES[0]: rows // 2 % 2, NAMES[1]: columns // 2 % 2, NAMES[2]: np.full((16, 16), 0.5)}
for name, picture in pictures.items():
    probabilities = compiled(picture.astype(np.float32)[None, None])[0][0]
    assert NAMES[probabilities.argmax()] == name, (name, probabilities)
    print(f"ok: {name} ({probabilities.max():.0%} sure)")
