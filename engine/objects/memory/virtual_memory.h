// Virtual memory: reservations of address space, physical memory objects, and the mappings between them.
#pragma once

#include <atomic>

#include "../../abi/handle.h"
#include "../../backends/backend.h"
#include "../devices/context.h"

namespace anyzero {

class Device;

// Threading: any thread.
class PhysicalMem : public Object<PhysicalMem, Kind::PhysicalMem> {
 public:
  static ze_result_t create(Context& context, Device* chosen, ze_physical_mem_desc_t* desc, ze_physical_mem_handle_t* handle);
  static ze_result_t destroy(Context& context, PhysicalMem& memory);
  static ze_result_t getProperties(Context& context, PhysicalMem& memory, ze_physical_mem_properties_t* properties);

  ze_result_t export_handle(const Context& context, ze_ipc_mem_handle_t* handle);

  Context& context() const { return *context_; }
  Device* device() const { return on_host_ ? nullptr : &device_; }
  ze_memory_type_t type() const { return on_host_ ? ZE_MEMORY_TYPE_HOST : ZE_MEMORY_TYPE_DEVICE; }
  size_t size() const { return size_; }
  const Backend::Block& block() const { return block_; }

  PhysicalMem(Context& context, Device& device, size_t size, bool on_host, bool imported, const Backend::Block& block);
  ~PhysicalMem();

 private:
  friend class VirtualMem;
  Ref<Context> context_;
  Device& device_;
  size_t size_;
  bool on_host_;
  bool imported_;  // from a descriptor
  uint64_t id_;
  Backend::Block block_;
  uint32_t mappings_ = 0;  // under the lock of the reservations
};

// Threading: any thread.
class VirtualMem {
 public:
  static ze_result_t reserve(Context& context, const void* start, size_t size, void** pointer);
  static ze_result_t free(Context& context, const void* pointer, size_t size);
  static ze_result_t queryPageSize(Context& context, Device& device, size_t size, size_t* page_size);
  static ze_result_t map(Context& context, const void* pointer, size_t size, PhysicalMem& memory, size_t offset,
                         ze_memory_access_attribute_t access);
  static ze_result_t unmap(Context& context, const void* pointer, size_t size);
  static ze_result_t setAccessAttribute(Context& context, const void* pointer, size_t size, ze_memory_access_attribute_t access);
  static ze_result_t getAccessAttribute(Context& context, const void* pointer, size_t size, ze_memory_access_attribute_t* access,
                                        size_t* run);
};

// Inside a reservation, mapped or not.
bool reserved_address(uintptr_t address);

}  // namespace anyzero
