"""Requests about graphs: a model's IR and build flags become a manifest, all that the engine needs beside the weights.

The engine calls these functions with bytes and gets bytes, as those of `modules.requests`. None of them sees the
weights, keeps state or imports OpenVINO. Any thread may call.
"""

from __future__ import annotations

from typing import Final

from anyzero import ze
from anyzero.driver.answering import answering
from anyzero.driver.graphs import arguments, configuration, flags
from anyzero.driver.graphs.adapt import adapt_input, adapt_output
from anyzero.driver.graphs.arguments import Argument
from anyzero.driver.graphs.flags import Flags
from anyzero.driver.graphs.ir import boundary, states, weightless
from anyzero.driver.graphs.ir import model as ir
from anyzero.driver.graphs.ir import weights as constants
from anyzero.driver.graphs.ir.check import check_edges
from anyzero.driver.graphs.ir.model import Model
from anyzero.driver.graphs.ir.text import damaged
from anyzero.driver.graphs.ir.weightless import Weight
from anyzero.driver.graphs.ir.weights import Piece
from anyzero.driver.graphs.ir.write import Edit
from anyzero.driver.wire import Reader, Refusal, Writer, reply

__all__ = ["manifest"]

MANIFEST_VERSION: Final = 1
COPIED_WEIGHTS: Final = 1
"""A serialisation of the model with all weights behind the IR."""
POINTED_WEIGHTS: Final = 2
"""One in which constants tell where in the client's memory their values are."""
FOR_EXECUTION: Final = 1
"""Otherwise a client only asks which layers could be executed, and all weights stay."""


@answering
def manifest(request: Reader) -> bytes:
    """Makes the manifest of a graph; the pieces that its weights are put together from come first."""
    build_flags, serializer, purpose, weights_size = request.text(), request.u32(), request.u32(), request.u64()
    xml = request.blob()
    request.end()
    if serializer not in (COPIED_WEIGHTS, POINTED_WEIGHTS):
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"there is no serialisation {serializer} of a model")
    given = flags.parse(build_flags)
    model = ir.read(xml)
    check_edges(model)
    edit = Edit(model)
    pointed = serializer == POINTED_WEIGHTS
    apart: dict[int, Weight] = {}
    if purpose == FOR_EXECUTION and configuration.weightless(given.config):
        call = configuration.call_number(given.config)
        apart = weightless.separable(model, weights_size, pointed=pointed, numbered=call is not None)
        preparing = weightless.parts(apart.values())
        if call is not None and call < len(preparing):
            return _preparing(model, preparing[call], given)
        if call is not None and call > len(preparing):
            raise Refusal(
                ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
                f"error: WS_COMPILE_CALL_NUMBER {call}: the model has {len(preparing) + 1} graphs, counted from 0",
            )
    weights: list[Weight] = []
    pieces: list[Piece] = []
    if apart:
        pieces, weights_size, weights = weightless.separate(model, edit, weights_size, apart, pointed=pointed)
    elif pointed:
        pieces, weights_size = constants.place_constants(model, edit, weights_size)
    else:
        constants.check_constants(model, weights_size)
    listed = _arguments(model, edit, given, weights)
    return _reply(model.name, edit.xml(), pieces, weights_size, given, listed)


def _preparing(model: Model, weights: list[Weight], given: Flags) -> bytes:
    """A graph that gives the model's own graph its weights."""
    name, xml = f"{model.name} (weights)", weightless.initializing(weights)
    return _reply(name, xml, [], 0, given, arguments.of_weights(weights))


def _reply(
    name: str, xml: bytes, pieces: list[Piece], weights_size: int, given: Flags, listed: list[Argument]
) -> bytes:
    body = Writer().u32(len(pieces))
    for piece in pieces:
        body.u64(*piece)
    body.u32(MANIFEST_VERSION).u64(weights_size).text(name).blob(xml)
    body.u32(configuration.PROFILING if configuration.wants_profiling(given.config) else 0)
    properties = configuration.properties(given.config, given.remarks)
    body.u32(len(properties))
    for key, value in properties.items():
        body.text(key).text(value)
    body.u32(len(listed))
    for argument in listed:
        argument.write(body)
    return reply(body, "\n".join(given.remarks))


def _arguments(model: Model, edit: Edit, given: Flags, weights: list[Weight]) -> list[Argument]:
    """The arguments that the model's inputs, outputs, states and weights become."""
    parameters, results = boundary.inputs(model), boundary.outputs(model)
    inputs = list(zip(parameters, flags.wishes(given, "inputs", parameters), strict=True))
    outputs = list(zip(results, flags.wishes(given, "outputs", results), strict=True))
    separated = states.separate(model, edit)
    for each, wish in inputs:
        adapt_input(edit, each, wish)
    for each, wish in outputs:
        adapt_output(edit, each, wish)
    if not outputs and not separated:
        raise damaged("the model has no Result, so there is nothing to compute")
    return arguments.arguments(inputs, outputs, separated, weights)
