"""NPU graphs: from a model's IR and build flags to the manifest that the engine executes."""
