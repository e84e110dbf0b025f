"""The fabric: a vertex for each device and tile, an edge between any two that reach each other's memory."""

from __future__ import annotations

from tests.abi.calls import run_python


def test_vertices_and_edges_follow_the_devices() -> None:
    run_python(
        """
        az = Calls()
        def uuid(device):
            return bytes(az.query("zeDeviceGetProperties", ze.ze_device_properties_t, device).uuid.id)
        def properties(vertex):
            return az.query("zeFabricVertexGetPropertiesExp", ze.ze_fabric_vertex_exp_properties_t, vertex)
        def edges(a, b):
            return [edge.value for edge in az.several("zeFabricEdgeGetExp", a, b)]
        vertices = az.several("zeFabricVertexGetExp", az.driver)
        assert len(vertices) == len(az.devices) == 2
        for vertex, device in zip(vertices, az.devices):
            assert az.new("zeFabricVertexGetDeviceExp", vertex).value == device.value
            assert az.new("zeDeviceGetFabricVertexExp", device).value == vertex.value
            found = properties(vertex)
            assert bytes(found.uuid.id) == uuid(device) and not found.remote
            assert found.type == ze.ZE_FABRIC_VERTEX_EXP_TYPE_DEVICE
            tiles = az.several("zeDeviceGetSubDevices", device)
            parts = az.several("zeFabricVertexGetSubVerticesExp", vertex)
            assert len(parts) == len(tiles) == 2
            for part, tile in zip(parts, tiles):
                assert az.new("zeFabricVertexGetDeviceExp", part).value == tile.value
                assert properties(part).type == ze.ZE_FABRIC_VERTEX_EXP_TYPE_SUBDEVICE
                assert bytes(properties(part).uuid.id) == uuid(tile)
                assert edges(vertex, part) == []
            assert len(edges(*parts)) == 1 and edges(vertex, vertex) == []
        one, = edges(*vertices)
        assert edges(vertices[1], vertices[0]) == [one]
        a, b = c_void_p(), c_void_p()
        az.ok("zeFabricEdgeGetVerticesExp", one, byref(a), byref(b))
        assert {a.value, b.value} == {vertex.value for vertex in vertices}
        link = az.query("zeFabricEdgeGetPropertiesExp", ze.ze_fabric_edge_exp_properties_t, c_void_p(one))
        assert link.model == b"shared system memory" and any(link.uuid.id)
        assert link.bandwidthUnit == ze.ZE_BANDWIDTH_UNIT_UNKNOWN and link.latencyUnit == ze.ZE_LATENCY_UNIT_UNKNOWN
        assert link.duplexity == ze.ZE_FABRIC_EDGE_EXP_DUPLEXITY_UNKNOWN
        az.error(INVALID_NULL_HANDLE, "zeFabricVertexGetDeviceExp", az.device, byref(a))
        """,
        ANYZERO_DEVICES="cpu:tiles=2,cpu:tiles=2",
    )
