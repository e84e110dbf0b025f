"""Graphs: from a model's IR and build flags to a manifest, which is all that the engine needs beside the weights.

Like `modules`, functions that the engine calls, each from bytes to bytes. Nothing here sees the weights, remembers
anything or imports OpenVINO. Any thread may call.
"""

from __future__ import annotations

from typing import Final

from anyzero import ze
from anyzero.driver import (
    graph_arguments,
    graph_config,
    graph_flags,
    ir,
    ir_boundary,
    ir_rewrite,
    ir_states,
    ir_weights,
)
from anyzero.driver.answering import answering
from anyzero.driver.ir_check import check_edges
from anyzero.driver.ir_text import damaged
from anyzero.driver.ir_write import Edit
from anyzero.driver.wire import Reader, Refusal, Writer, reply

__all__ = ["plan"]

MANIFEST_VERSION: Final = 1
COPIED_WEIGHTS: Final = 1
"""A serialisation of the model with all weights behind the IR."""
POINTED_WEIGHTS: Final = 2
"""One in which constants tell where in the client's memory their values are."""


@answering
def plan(request: Reader) -> bytes:
    """Plans a graph: where its constants come from, then the manifest."""
    given, serializer, weights_size, xml = request.text(), request.u32(), request.u64(), request.blob()
    request.end()
    if serializer not in (COPIED_WEIGHTS, POINTED_WEIGHTS):
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"there is no serialisation {serializer} of a model")
    flags = graph_flags.parse(given)
    model = ir.read(xml)
    check_edges(model)
    edit = Edit(model)
    pieces: list[ir_weights.Piece] = []
    if serializer == POINTED_WEIGHTS:
        pieces, weights_size = ir_weights.place_constants(model, edit, weights_size)
    else:
        ir_weights.check_constants(model, weights_size)
    arguments = _boundaries(model, edit, flags)
    body = Writer().u32(len(pieces))
    for piece in pieces:
        body.u64(*piece)
    body.u32(MANIFEST_VERSION).u64(weights_size).text(model.name).blob(edit.xml())
    body.u32(graph_config.PROFILING if graph_config.wants_profiling(flags.config) else 0)
    properties = graph_config.properties(flags.config, flags.remarks)
    body.u32(len(properties))
    for key, value in properties.items():
        body.text(key).text(value)
    body.u32(len(arguments))
    for argument in arguments:
        argument.write(body)
    return reply(body, "\n".join(flags.remarks))


def _boundaries(model: ir.Model, edit: Edit, flags: graph_flags.Flags) -> list[graph_arguments.Argument]:
    """What becomes of the model's inputs, outputs and states."""
    taken, given = ir_boundary.inputs(model), ir_boundary.outputs(model)
    inputs = list(zip(taken, graph_flags.wishes(flags, "inputs", taken), strict=True))
    outputs = list(zip(given, graph_flags.wishes(flags, "outputs", given), strict=True))
    states = ir_states.separate(model, edit)
    for boundary, wish in inputs:
        ir_rewrite.adapt_input(edit, boundary, wish)
    for boundary, wish in outputs:
        ir_rewrite.adapt_output(edit, boundary, wish)
    if not outputs and not states:
        raise damaged("the model has no Result, so there is nothing to compute")
    return graph_arguments.arguments(inputs, outputs, states)
