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
    ir_weightless,
    ir_weights,
)
from anyzero.driver.answering import answering
from anyzero.driver.ir_check import check_edges
from anyzero.driver.ir_text import damaged
from anyzero.driver.ir_weightless import Weight
from anyzero.driver.ir_write import Edit
from anyzero.driver.wire import Reader, Refusal, Writer, reply

__all__ = ["plan"]

MANIFEST_VERSION: Final = 1
COPIED_WEIGHTS: Final = 1
"""A serialisation of the model with all weights behind the IR."""
POINTED_WEIGHTS: Final = 2
"""One in which constants tell where in the client's memory their values are."""
FOR_EXECUTION: Final = 1
"""Otherwise a client only asks which layers could be executed, and for that all weights stay."""


@answering
def plan(request: Reader) -> bytes:
    """Plans a graph: where its constants come from, then the manifest."""
    given, serializer, purpose, weights_size = request.text(), request.u32(), request.u32(), request.u64()
    xml = request.blob()
    request.end()
    if serializer not in (COPIED_WEIGHTS, POINTED_WEIGHTS):
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"there is no serialisation {serializer} of a model")
    flags = graph_flags.parse(given)
    model = ir.read(xml)
    check_edges(model)
    edit = Edit(model)
    pointed = serializer == POINTED_WEIGHTS
    apart: dict[int, Weight] = {}
    if purpose == FOR_EXECUTION and graph_config.weightless(flags.config):
        call = graph_config.call_number(flags.config)
        apart = ir_weightless.separable(model, weights_size, pointed=pointed, numbered=call is not None)
        preparing = ir_weightless.parts(apart.values())
        if call is not None and call < len(preparing):
            return _preparing(model, preparing[call], flags)
        if call is not None and call > len(preparing):
            raise Refusal(
                ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
                f"error: WS_COMPILE_CALL_NUMBER {call}: the model has {len(preparing) + 1} graphs, counted from 0",
            )
    weights: list[Weight] = []
    pieces: list[ir_weights.Piece] = []
    if apart:
        pieces, weights_size, weights = ir_weightless.separate(model, edit, weights_size, apart, pointed=pointed)
    elif pointed:
        pieces, weights_size = ir_weights.place_constants(model, edit, weights_size)
    else:
        ir_weights.check_constants(model, weights_size)
    arguments = _boundaries(model, edit, flags, weights)
    return _manifest(model.name, edit.xml(), pieces, weights_size, flags, arguments)


def _preparing(model: ir.Model, weights: list[Weight], flags: graph_flags.Flags) -> bytes:
    """A graph that gives the model's own graph its weights."""
    name, xml = f"{model.name} (weights)", ir_weightless.initializing(weights)
    return _manifest(name, xml, [], 0, flags, graph_arguments.of_weights(weights))


def _manifest(
    name: str,
    xml: bytes,
    pieces: list[ir_weights.Piece],
    weights_size: int,
    flags: graph_flags.Flags,
    arguments: list[graph_arguments.Argument],
) -> bytes:
    body = Writer().u32(len(pieces))
    for piece in pieces:
        body.u64(*piece)
    body.u32(MANIFEST_VERSION).u64(weights_size).text(name).blob(xml)
    body.u32(graph_config.PROFILING if graph_config.wants_profiling(flags.config) else 0)
    properties = graph_config.properties(flags.config, flags.remarks)
    body.u32(len(properties))
    for key, value in properties.items():
        body.text(key).text(value)
    body.u32(len(arguments))
    for argument in arguments:
        argument.write(body)
    return reply(body, "\n".join(flags.remarks))


def _boundaries(
    model: ir.Model, edit: Edit, flags: graph_flags.Flags, weights: list[Weight]
) -> list[graph_arguments.Argument]:
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
    return graph_arguments.arguments(inputs, outputs, states, weights)
