"""OpenVINO's IR: reading, checking and changing the text of a model."""
