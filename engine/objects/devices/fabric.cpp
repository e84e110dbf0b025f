#include "fabric.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "driver.h"

namespace anyzero {

namespace {

// Vertices and edges that were queried; leaked, as devices are.
struct Fabric {
  Mutex mutex;
  std::map<Device*, FabricVertex*> vertices;
  std::map<std::pair<FabricVertex*, FabricVertex*>, FabricEdge*> edges;
};

Fabric& fabric() {
  static Fabric* fabric = new Fabric;
  return *fabric;
}

ze_result_t list_vertices(const std::vector<Device*>& devices, uint32_t* count, ze_fabric_vertex_handle_t* handles) {
  std::vector<FabricVertex*> vertices;
  for (Device* device : devices) vertices.push_back(&FabricVertex::of(*device));
  return list_handles(vertices, count, handles);
}

ze_uuid_t uuid_of(const Device& device) {
  ze_uuid_t uuid = {};
  auto* known = device.properties().get<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
  if (known) std::memcpy(uuid.id, known->uuid.id, sizeof uuid.id);
  return uuid;
}

}  // namespace

FabricVertex& FabricVertex::of(Device& device) {
  std::lock_guard lock(fabric().mutex);
  FabricVertex*& vertex = fabric().vertices[&device];
  if (!vertex) vertex = make(device);
  return *vertex;
}

ze_result_t FabricVertex::getExp(Driver& driver, uint32_t* count, ze_fabric_vertex_handle_t* handles) {
  return list_vertices(driver.devices(), count, handles);
}

ze_result_t FabricVertex::getSubVerticesExp(uint32_t* count, ze_fabric_vertex_handle_t* handles) {
  return list_vertices(device_.shown_tiles(), count, handles);
}

ze_result_t FabricVertex::getPropertiesExp(ze_fabric_vertex_exp_properties_t* properties) {
  properties->uuid = uuid_of(device_);
  properties->type = device_.shown_root() ? ZE_FABRIC_VERTEX_EXP_TYPE_SUBDEVICE : ZE_FABRIC_VERTEX_EXP_TYPE_DEVICE;
  properties->remote = false;
  properties->address = {};
  if (auto* pci = device_.properties().get<ze_pci_ext_properties_t>(ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES))
    properties->address = {pci->address.domain, pci->address.bus, pci->address.device, pci->address.function};
  return ZE_RESULT_SUCCESS;
}

ze_result_t FabricVertex::getDeviceExp(ze_device_handle_t* handle) {
  *handle = handle_of<ze_device_handle_t>(&device_);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getFabricVertexExp(ze_fabric_vertex_handle_t* handle) {
  *handle = handle_of<ze_fabric_vertex_handle_t>(&FabricVertex::of(*this));
  return ZE_RESULT_SUCCESS;
}

ze_result_t FabricEdge::getExp(FabricVertex& a, FabricVertex& b, uint32_t* count, ze_fabric_edge_handle_t* handles) {
  const Device &first = a.device(), &second = b.device();
  std::vector<FabricEdge*> edges;
  // A tile is a part of its device, without a link between them; and drivers do not access each other's memory.
  const bool nested = first.is_or_is_tile_of(second) || second.is_or_is_tile_of(first);
  if (!nested && &first.driver() == &second.driver()) {
    std::lock_guard lock(fabric().mutex);
    FabricEdge*& edge = fabric().edges[std::minmax(&a, &b)];
    if (!edge) edge = make(a, b);
    edges.push_back(edge);
  }
  return list_handles(edges, count, handles);
}

ze_result_t FabricEdge::getVerticesExp(ze_fabric_vertex_handle_t* a, ze_fabric_vertex_handle_t* b) {
  *a = handle_of<ze_fabric_vertex_handle_t>(&a_);
  *b = handle_of<ze_fabric_vertex_handle_t>(&b_);
  return ZE_RESULT_SUCCESS;
}

// The bandwidth between two devices of one machine is not specified, so it is reported as unknown rather than guessed.
ze_result_t FabricEdge::getPropertiesExp(ze_fabric_edge_exp_properties_t* properties) {
  const ze_uuid_t first = uuid_of(a_.device()), second = uuid_of(b_.device());
  for (size_t i = 0; i < sizeof first.id; ++i) properties->uuid.id[i] = first.id[i] ^ second.id[sizeof second.id - 1 - i];
  std::snprintf(properties->model, sizeof properties->model, "shared system memory");
  properties->bandwidth = 0;
  properties->bandwidthUnit = ZE_BANDWIDTH_UNIT_UNKNOWN;
  properties->latency = 0;
  properties->latencyUnit = ZE_LATENCY_UNIT_UNKNOWN;
  properties->duplexity = ZE_FABRIC_EDGE_EXP_DUPLEXITY_UNKNOWN;
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
