// The fabric: a vertex for each device and tile, an edge between any two that reach each other's memory.
#pragma once

#include "../../abi/handle.h"
#include "device.h"

namespace anyzero {

// Threading: any thread. Vertices and edges live as long as the process, as devices do.
class FabricVertex : public Object<FabricVertex, Kind::FabricVertex> {
 public:
  static ze_result_t getExp(Driver& driver, uint32_t* count, ze_fabric_vertex_handle_t* handles);
  ze_result_t getSubVerticesExp(uint32_t* count, ze_fabric_vertex_handle_t* handles);
  ze_result_t getPropertiesExp(ze_fabric_vertex_exp_properties_t* properties);
  ze_result_t getDeviceExp(ze_device_handle_t* handle);

  static FabricVertex& of(Device& device);
  Device& device() const { return device_; }

  explicit FabricVertex(Device& device) : device_(device) {}

 private:
  Device& device_;
};

class FabricEdge : public Object<FabricEdge, Kind::FabricEdge> {
 public:
  static ze_result_t getExp(FabricVertex& a, FabricVertex& b, uint32_t* count, ze_fabric_edge_handle_t* handles);
  ze_result_t getVerticesExp(ze_fabric_vertex_handle_t* a, ze_fabric_vertex_handle_t* b);
  ze_result_t getPropertiesExp(ze_fabric_edge_exp_properties_t* properties);

  FabricEdge(FabricVertex& a, FabricVertex& b) : a_(a), b_(b) {}

 private:
  FabricVertex& a_;
  FabricVertex& b_;
};

}  // namespace anyzero
