"""What a loader exports beside the API itself. None of it is in the specification, so `spec/` cannot hold it.

The names and signatures are those of the upstream loader, release 1.32; programs link them, or look them up in whatever
`libze_loader.so.1` they find.
"""

from __future__ import annotations

from codegen.model import Api

# The release whose exports ours match. Programs read it as a statement of what they may call.
RELEASE = (1, 32, 0)

# Written by hand in loader/: versions, handles, teardown, tracing, and what a loader that was linked statically into a
# program asks of the shared one.
LOADER_API = (
    "zeLoaderGetTracingHandle",
    "zeLoaderInit",
    "zelCheckIsLoaderInTearDown",
    "zelDisableTracingLayer",
    "zelEnableTracingLayer",
    "zelGetLoaderVersion",
    "zelGetTracerApiProcAddrTable",
    "zelGetTracingLayerState",
    "zelLoaderContextTeardown",
    "zelLoaderDriverCheck",
    "zelLoaderGetContext",
    "zelLoaderGetVersion",
    "zelLoaderGetVersions",
    "zelLoaderGetVersionsInternal",
    "zelLoaderTracingLayerInit",
    "zelLoaderTranslateHandle",
    "zelLoaderTranslateHandleInternal",
    "zelLoaderZerTracingLayerInit",
    "zelRegisterTeardownCallback",
    "zelSetDelayLoaderContextTeardown",
    "zelSetDriverTeardown",
    "zelTracerCreate",
    "zelTracerDestroy",
    "zelTracerResetAllCallbacks",
    "zelTracerSetEnabled",
    "zelTracerSetEpilogues",
    "zelTracerSetPrologues",
)


def tracer_callbacks(api: Api) -> dict[str, str]:
    """The functions that register a callback, and what they trace: `zelTracerEventCreateRegisterCallback`."""
    return {
        f"zelTracer{slot.function.removeprefix(table.namespace)}RegisterCallback": slot.function
        for table in api.tables.values()
        if table.namespace in ("ze", "zer")
        for slot in table.slots
    }


def exports(api: Api) -> frozenset[str]:
    """Every name that a loader exports."""
    return frozenset((*api.functions, *LOADER_API, *tracer_callbacks(api)))
