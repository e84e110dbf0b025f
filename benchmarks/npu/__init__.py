"""OpenVINO on the NPU, beside OpenVINO's own CPU device: the same models, in turns in one process."""
