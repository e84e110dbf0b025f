"""The loader's tracing layer: functions that register a callback, the table of callbacks of 1.0, and the C header."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codegen import c_types, loader_names, names
from codegen.model import Api, Function
from codegen.outputs import Output, slashes

FOLDER = "loader/gen"
GUARD = "zel_tracing_register_cb_H"


def outputs(api: Api) -> Iterator[Output]:
    for name, lines in (
        ("core_callbacks.inc", _core_callbacks(api)),
        ("tracing.cpp", _registrations(api)),
        ("zel_tracing_register_cb.h", _header(api)),
    ):
        yield Output(f"{FOLDER}/{name}", "\n".join([slashes(), *lines]) + "\n")


def parameters_type(function: Function) -> str:
    """`ze_event_create_params_t`: a pointer to each argument of the call, in order."""
    return f"{function.namespace}_{names.snake(function.name.removeprefix(function.namespace))}_params_t"


def callback_type(function: Function) -> str:
    return f"{function.namespace}_pfn{function.name.removeprefix(function.namespace)}Cb_t"


def parameter_fields(function: Function) -> list[str]:
    return [f"{param.type}* p{param.name}" for param in function.params]


def _core_callbacks(api: Api) -> Iterator[str]:
    """`zelTracerSetPrologues` takes a structure with the functions of 1.0 only."""
    yield "// CORE_CALLBACK(function, its place in ze_callbacks_t)"
    for table in api.structs["ze_callbacks_t"]:
        for field in api.structs[table.type]:
            function = api.functions[re.sub(r"^ze_pfn(\w+)Cb_t$", r"ze\1", field.type)]
            _check_parameters(api, function)
            yield f"CORE_CALLBACK({function.name}, {table.name}.{field.name})"
    yield "#undef CORE_CALLBACK"


def _check_parameters(api: Api, function: Function) -> None:
    """The layer passes pointers to all arguments in order; the structures of the specification must be just that."""
    declared = [f"{field.type} {field.name}" for field in api.structs[parameters_type(function)]]
    if declared != parameter_fields(function):
        raise ValueError(
            f"{parameters_type(function)}: {declared} are not pointers to the arguments of {function.name}"
        )


def _registrations(api: Api) -> Iterator[str]:
    yield from ('#include "../tracer.h"', "", "namespace anyzero::loader {", 'extern "C" {', "")
    for name, function in loader_names.tracer_callbacks(api).items():
        arguments = "zel_tracer_handle_t tracer, zel_tracer_reg_t when, zel_callback_t callback"
        yield f"ZE_APIEXPORT ze_result_t ZE_APICALL {name}({arguments}) {{"
        yield f"  return register_callback(tracer, when, FunctionIndex::{function}, callback);"
        yield from ("}", "")
    yield from ('}  // extern "C"', "}  // namespace anyzero::loader")


def _header(api: Api) -> Iterator[str]:
    """`layers/zel_tracing_register_cb.h` for C programs. What the specification's own header declares is left out."""
    yield from (f"#ifndef {GUARD}", f"#define {GUARD}", "", '#include "../ze_api.h"', "")
    yield from ("#ifdef __cplusplus", 'extern "C" {', "#endif", "")
    yield "typedef struct _zel_tracer_handle_t *zel_tracer_handle_t;"
    yield "typedef enum _zel_tracer_reg_t { ZEL_REGISTER_PROLOGUE = 0, ZEL_REGISTER_EPILOGUE = 1 } zel_tracer_reg_t;"
    yield ""
    registered = loader_names.tracer_callbacks(api)
    for function in (api.functions[name] for name in registered.values()):
        parameters = parameters_type(function)
        if callback_type(function) in api.callbacks:
            continue
        yield f"typedef struct _{parameters} {{"
        yield from (f"    {field};" for field in parameter_fields(function))
        yield f"}} {parameters};"
        listed = c_types.parameters(
            (
                ("params", f"{parameters}*"),
                ("result", function.type),
                ("pTracerUserData", "void*"),
                ("ppTracerInstanceUserData", "void**"),
            )
        )
        yield f"typedef void (ZE_APICALL *{callback_type(function)})({listed});"
        yield ""
    for name, function in ((name, api.functions[target]) for name, target in registered.items()):
        arguments = f"zel_tracer_handle_t hTracer, zel_tracer_reg_t callback_type, {callback_type(function)} callback"
        yield f"ZE_APIEXPORT ze_result_t ZE_APICALL {name}({arguments});"
    yield "ZE_APIEXPORT ze_result_t ZE_APICALL zelTracerResetAllCallbacks(zel_tracer_handle_t hTracer);"
    yield from ("", "#ifdef __cplusplus", "}", "#endif", "", f"#endif  // {GUARD}")
