"""Requests about graphs: a model's IR and build flags become a manifest, all that the engine needs beside the weights.

The engine calls these functions with bytes and gets bytes, as those of `modules.requests`. None of them sees the
weights, keeps state or imports OpenVINO. Any thread may call.
"""

from __future__ import annotations

from anyzero import ze
from anyzero.driver.answering import Refusal, answering, reply
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
from anyzero.driver.graphs.ir.write import Edit
from anyzero.layouts.graph import (
    MANIFEST_VERSION,
    CompileProperty,
    GraphPurpose,
    GraphReply,
    GraphRequest,
    ManifestFlag,
    ManifestRecord,
    ModelSerializer,
    WeightsPiece,
)
from anyzero.wire import Reader, Writer

__all__ = ["manifest"]


@answering
def manifest(request: Reader) -> bytes:
    """Makes the manifest of a graph; the pieces that its weights are put together from come first."""
    build_flags, serializer, purpose, weights_size, xml = GraphRequest.read(request)
    request.end()
    if serializer not in (ModelSerializer.WHOLE, ModelSerializer.POINTING):
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"there is no serialisation format {serializer} of a model")
    given = flags.parse(build_flags)
    model = ir.read(xml)
    check_edges(model)
    edit = Edit(model)
    pointed = serializer == ModelSerializer.POINTING
    apart: dict[int, Weight] = {}
    if purpose == GraphPurpose.EXECUTION and configuration.weightless(given.config):
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
    pieces: list[WeightsPiece] = []
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
    name: str, xml: bytes, pieces: list[WeightsPiece], weights_size: int, given: Flags, listed: list[Argument]
) -> bytes:
    properties = configuration.properties(given.config, given.remarks)
    record = ManifestRecord(
        MANIFEST_VERSION,
        weights_size,
        name,
        xml,
        ManifestFlag.PROFILING if configuration.wants_profiling(given.config) else 0,
        [CompileProperty(key, value) for key, value in properties.items()],
        [each.record() for each in listed],
    )
    body = record.write(GraphReply(pieces).write(Writer()))
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
