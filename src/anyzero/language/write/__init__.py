"""From the typed tree to SPIR-V."""
