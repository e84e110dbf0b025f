"""Tests of Level Zero programs without hardware: a plugin for pytest, which finds it by itself.

::

    import numpy as np
    import pytest
    import anyzero as az

    def test_fill(az_context):                                # a context on the default device
        x = az_context.full(8, 1, np.float32, kind="shared")
        assert np.asarray(x).sum() == 8

    @pytest.mark.az_topology("cpu:tiles=2", "cpu,cpu")        # once for each, in processes of their own
    def test_everywhere(az_devices):
        assert len(az_devices) in (1, 2)

Fixtures: `az_device`, `az_devices`, `az_context`, `az_topology`. Marks: `az_topology`, `az_kernel`, `az_strict`.
Options in an ini file: `anyzero_strict`, `anyzero_kernel_timeout`. `anyzero docs ci` has the details.
"""
