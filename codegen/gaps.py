"""What the specification says in prose and the facts in `spec/` therefore cannot hold.

Everything here is an exception to a rule that the generator otherwise derives. Keep it short.
"""

# The facts list what a function may *return*, not its C type. These are the only ones that do not return ze_result_t.
# The value is the C type and what the function returns when it fails.
RETURN_TYPES: dict[str, tuple[str, str]] = {
    "zeDriverGetDefaultContext": ("ze_context_handle_t", "nullptr"),
    "zerTranslateDeviceHandleToIdentifier": ("uint32_t", "UINT32_MAX"),
    "zerTranslateIdentifierToDeviceHandle": ("ze_device_handle_t", "nullptr"),
    "zerGetDefaultContext": ("ze_context_handle_t", "nullptr"),
}

# Flags where all bits set means "any", although most of those bits have no name.
ANY_BITS: frozenset[tuple[str, str]] = frozenset({("ze_init_driver_type_desc_t", "flags")})

# Enums of which only the bounds have names; every value between them may be valid.
OPEN_ENUMS: frozenset[str] = frozenset({"ze_rtas_format_exp_t", "ze_rtas_format_ext_t"})

# Handle arrays whose elements may be null: null takes the wait out of that slot.
NULL_ELEMENTS: frozenset[tuple[str, str]] = frozenset(
    {("zeCommandListUpdateMutableCommandWaitEventsExp", "phWaitEvents")}
)

# Conditions that hold for less than they say, so the engine itself looks: a module that is put together of several
# inputs has none of its own.
LEFT_TO_THE_ENGINE: frozenset[tuple[str, str]] = frozenset({("zeModuleCreate", "`0 == desc->inputSize`")})

# Parameters that may be null although no tag says so: asking for a size needs no room, physical host memory no device;
# the last must be null.
MAY_BE_NULL: frozenset[tuple[str, str]] = frozenset(
    {
        ("zeKernelGetBinaryExp", "pKernelBinary"),
        ("zePhysicalMemCreate", "hDevice"),
        ("zetCommandListAppendMetricQueryEnd", "phWaitEvents"),
    }
)

# Functions that are older than the facts say: those tell since when this form is documented. Slots that come before
# the ones of the named version are there for older callers, too.
SINCE: dict[str, tuple[int, int]] = {"zesEngineGetActivity": (1, 0)}

# Functions of the tools API that the Python package calls.
PYTHON_TOOLS: frozenset[str] = frozenset({"zetModuleGetDebugInfo"})

# Handles of system management whose names abbreviate the noun of their table.
SYSMAN_NOUNS: dict[str, str] = {
    "diag": "Diagnostics",
    "freq": "Frequency",
    "mem": "Memory",
    "perf": "PerformanceFactor",
    "pwr": "Power",
    "sched": "Scheduler",
    "temp": "Temperature",
    "vf": "VFManagement",
}

# Tables only ever grow at their end, except these: their members were reordered in the named version, and the facts
# hold the new order only. A caller older than that must not have its table touched.
REORDERED: dict[str, tuple[int, int]] = {"ze_command_list_exp_dditable_t": (1, 11)}

# Flags stored in a byte have no enum of their own; they share that of the unpacked spelling.
PACKED = "_packed_"

# Structures whose ZE_STRUCTURE_TYPE_ is not spelled like the structure.
STRUCTURE_TYPES: dict[str, str] = {
    "ze_command_list_append_launch_kernel_param_cooperative_desc_t": "COMMAND_LIST_APPEND_PARAM_COOPERATIVE_DESC",
    "ze_context_power_saving_hint_exp_desc_t": "POWER_SAVING_HINT_EXP_DESC",
    "ze_device_cache_line_size_ext_t": "DEVICE_CACHELINE_SIZE_EXT",
    "ze_device_pitched_alloc_exp_properties_t": "PITCHED_ALLOC_DEVICE_EXP_PROPERTIES",
    "ze_event_pool_counter_based_exp_desc_t": "COUNTER_BASED_EVENT_POOL_EXP_DESC",
    "ze_external_memory_export_win32_handle_t": "EXTERNAL_MEMORY_EXPORT_WIN32",
    "ze_external_memory_import_win32_handle_t": "EXTERNAL_MEMORY_IMPORT_WIN32",
    "ze_image_bindless_exp_desc_t": "BINDLESS_IMAGE_EXP_DESC",
    "ze_image_memory_properties_exp_t": "IMAGE_MEMORY_EXP_PROPERTIES",
    "ze_image_pitched_exp_desc_t": "PITCHED_IMAGE_EXP_DESC",
    "ze_kernel_allocation_exp_properties_t": "KERNEL_ALLOCATION_PROPERTIES",
    "ze_kernel_max_group_size_properties_ext_t": "KERNEL_MAX_GROUP_SIZE_EXT_PROPERTIES",
    "ze_validate_runtime_requirements_output_t": "RUNTIME_REQUIREMENTS_OUTPUT",
}

# The same for the structures of the NPU's extensions.
NPU_STRUCTURE_TYPES: dict[str, str] = {
    "ze_activation_kernel_desc_t": "GRAPH_ACTIVATION_KERNEL",
    "ze_graph_argument_value_strides_t": "GRAPH_ARGUMENT_STRIDES",
    "ze_graph_argument_value_tensor_t": "GRAPH_ARGUMENT_TENSOR",
}

# Structure types that share the structure of another.
SECOND_STRUCTURE_TYPES: dict[str, str] = {"ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2": "ze_device_properties_t"}
