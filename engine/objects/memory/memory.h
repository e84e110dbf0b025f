// Host, device and shared memory: allocation, free, queries and export to other processes.
#pragma once

#include <functional>

#include "allocation.h"

namespace anyzero {

class Context;
class Device;

// Threading: any thread; freeing the same pointer twice at the same time is the program's fault but harmless.
class Mem {
 public:
  static ze_result_t allocDevice(Context& context, const ze_device_mem_alloc_desc_t* desc, size_t size, size_t alignment,
                                 Device& device, void** pointer);
  static ze_result_t allocHost(Context& context, const ze_host_mem_alloc_desc_t* desc, size_t size, size_t alignment,
                               void** pointer);
  static ze_result_t allocShared(Context& context, const ze_device_mem_alloc_desc_t* device_desc,
                                 const ze_host_mem_alloc_desc_t* host_desc, size_t size, size_t alignment, Device* device,
                                 void** pointer);

  static ze_result_t free(Context& context, void* pointer);
  static ze_result_t freeExt(Context& context, const ze_memory_free_ext_desc_t* desc, void* pointer);

  static ze_result_t getAllocProperties(Context& context, const void* pointer, ze_memory_allocation_properties_t* properties,
                                        ze_device_handle_t* device);
  static ze_result_t getAddressRange(Context& context, const void* pointer, void** base, size_t* size);
  static ze_result_t setAtomicAccessAttributeExp(Context& context, Device& device, const void* pointer, size_t size,
                                                 ze_memory_atomic_attr_exp_flags_t attributes);
  static ze_result_t getAtomicAccessAttributeExp(Context& context, Device& device, const void* pointer, size_t size,
                                                 ze_memory_atomic_attr_exp_flags_t* attributes);
  static ze_result_t getPitchFor2dImage(Context& context, Device& device, size_t width, size_t height, unsigned int element_size,
                                        size_t* row_pitch);

  static ze_result_t getIpcHandle(Context& context, const void* pointer, ze_ipc_mem_handle_t* handle);
  static ze_result_t getIpcHandleWithProperties(Context& context, const void* pointer, void* next, ze_ipc_mem_handle_t* handle);
  static ze_result_t putIpcHandle(Context& context, ze_ipc_mem_handle_t handle);
  static ze_result_t openIpcHandle(Context& context, Device& device, ze_ipc_mem_handle_t handle, ze_ipc_memory_flags_t flags,
                                   void** pointer);
  static ze_result_t closeIpcHandle(Context& context, const void* pointer);
  static ze_result_t getIpcHandleFromFileDescriptorExp(Context& context, uint64_t descriptor, ze_ipc_mem_handle_t* handle);
  static ze_result_t getFileDescriptorFromIpcHandleExp(Context& context, ze_ipc_mem_handle_t handle, uint64_t* descriptor);
};

// The parameters of an allocation of any kind.
struct Request {
  Context& context;
  Device* device;
  ze_memory_type_t type;
  size_t size;
  size_t alignment;
  const void* device_chain;  // pNext of the descriptors
  const void* host_chain;
  uint32_t device_flags;
  uint32_t host_flags;
};

// Imports the memory of a descriptor, which the program keeps.
ze_result_t import_descriptor(const Request& request, const ze_external_memory_import_fd_t& import, void** pointer);
// Fills the export structure in a pNext chain of properties, if there is one.
ze_result_t export_descriptor(Allocation& allocation, void* chain);
// The specified error if the device cannot export or import the kind of descriptor in `flags`.
ze_result_t check_external_types(const Context& context, const Device* device, uint32_t flags, bool importing);
// A handle for, or a descriptor of, bytes that other processes can map.
ze_result_t export_bytes(const Allocation::FileRange& range, ze_memory_type_t type, uint32_t flags, ze_ipc_mem_handle_t* handle);
ze_result_t lend_bytes(const Allocation::FileRange& range, uint32_t type, int* fd);
// Moves the allocation's block into a file that other processes can map.
ze_result_t make_shareable(Allocation& allocation);

// Frees memory whose commands have completed since; true if any was freed.
bool sweep_deferred_frees();
// The same, but gives commands that are running a moment to complete.
bool await_deferred_frees();
// Calls `look` for a freed allocation around `address` that commands may still use; false if there is none.
bool with_deferred(uintptr_t address, const std::function<void(const Allocation&)>& look);

// Frees all memory of a context that is being destroyed, once its queues are idle.
void free_all(Context& context);

}  // namespace anyzero
