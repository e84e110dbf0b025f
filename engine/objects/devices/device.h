// A device or one of its tiles: its properties, its memory account and the engines of its queues.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "../../abi/handle.h"
#include "../../abi/properties.h"
#include "../../backends/backend.h"
#include "../../exec/engine.h"

namespace anyzero {

class Driver;

// Threading: any thread. Devices live as long as the process.
class ExternalSemaphore;

class Device : public Object<Device, Kind::Device> {
 public:
  static ze_result_t get(Driver& driver, uint32_t* count, ze_device_handle_t* handles);
  ze_result_t getRootDevice(ze_device_handle_t* root);
  ze_result_t getSubDevices(uint32_t* count, ze_device_handle_t* handles);
  ze_result_t getProperties(ze_device_properties_t* properties);
  ze_result_t getComputeProperties(ze_device_compute_properties_t* properties);
  ze_result_t getModuleProperties(ze_device_module_properties_t* properties);
  ze_result_t getCommandQueueGroupProperties(uint32_t* count, ze_command_queue_group_properties_t* properties);
  ze_result_t getMemoryProperties(uint32_t* count, ze_device_memory_properties_t* properties);
  ze_result_t getMemoryAccessProperties(ze_device_memory_access_properties_t* properties);
  ze_result_t getCacheProperties(uint32_t* count, ze_device_cache_properties_t* properties);
  ze_result_t getImageProperties(ze_device_image_properties_t* properties);
  ze_result_t getExternalMemoryProperties(ze_device_external_memory_properties_t* properties);
  ze_result_t getP2PProperties(Device& peer, ze_device_p2p_properties_t* properties);
  ze_result_t canAccessPeer(Device& peer, ze_bool_t* value);
  ze_result_t getStatus();
  ze_result_t getGlobalTimestamps(uint64_t* host, uint64_t* device);
  ze_result_t synchronize();
  ze_result_t getAggregatedCopyOffloadIncrementValue(uint32_t* value);
  ze_result_t getCounterBasedEventMaxValue(uint64_t* value);
  ze_result_t getRuntimeRequirements(const void* object, size_t* size, char* requirements);
  ze_result_t getRuntimeRequirementsKey(const char** key);
  ze_result_t validateRuntimeRequirements(const char* requirements, ze_validate_runtime_requirements_output_t* result);
  ze_result_t reserveCacheExt(size_t level, size_t size);
  ze_result_t setCacheAdviceExt(void* pointer, size_t size, ze_cache_ext_region_t region);
  ze_result_t pciGetPropertiesExt(ze_pci_ext_properties_t* properties);
  ze_result_t importExternalSemaphoreExt(const ze_external_semaphore_ext_desc_t* desc, ze_external_semaphore_ext_handle_t* handle);
  static ze_result_t releaseExternalSemaphoreExt(ExternalSemaphore& semaphore);
  ze_result_t getFabricVertexExp(ze_fabric_vertex_handle_t* handle);  // fabric.cpp
  ze_result_t getVectorWidthPropertiesExt(uint32_t* count, ze_device_vector_width_properties_ext_t* properties);

  // The two kinds of command queue group every device has, in the order the planner describes them.
  struct Group {
    uint32_t flags;
    size_t max_fill_pattern;
    std::vector<std::unique_ptr<Engine>> engines;
    bool copy_only() const { return !(flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE); }
  };

  Driver& driver() const { return driver_; }
  Device* parent() const { return parent_; }
  const Device& root() const { return parent_ ? *parent_ : *this; }
  bool is_or_is_tile_of(const Device& other) const { return this == &other || parent_ == &other; }
  const std::vector<Device*>& tiles() const { return tiles_; }
  const Properties& properties() const { return properties_; }
  const std::vector<Group>& groups() const { return groups_; }
  Backend& backend() const { return backend_; }

  // The relation between a device and its tiles, as programs see it.
  const std::vector<Device*>& shown_tiles() const { return shown_tiles_; }
  Device* shown_root() const { return shown_root_; }
  // Position among all devices and tiles that a program sees; kHidden for the others.
  static constexpr uint32_t kHidden = UINT32_MAX;
  uint32_t identifier() const { return identifier_; }

  // Position among all devices and tiles of the process: a bit in residency masks.
  uint32_t index() const { return index_; }
  bool pages_on_demand() const { return pages_on_demand_; }
  uint64_t memory_total() const { return memory_total_; }
  uint64_t memory_used() const { return memory_used_.load(std::memory_order_relaxed); }
  // The bytes that may still be charged; a tile has no more than its device.
  uint64_t memory_free() const;
  uint64_t max_allocation() const { return max_allocation_; }
  uint32_t memories() const { return memories_; }

  // Charges `size` bytes to the account of this device (and of its parent, for a tile); false if the account has less.
  bool charge(uint64_t size);
  void refund(uint64_t size);

  // Every ring of this device registers itself.
  void add_ring(Ring* ring);
  void remove_ring(Ring* ring);
  // The number of command queues and immediate lists of this device, without its tiles, and the maximum. A ring may outlive its
  // queue.
  std::atomic<size_t> queues{0};
  size_t most_queues() const;
  // Visits every ring of this device, without its tiles, under a lock.
  template <class F>
  void each_ring(F&& look) {
    for (auto open = rings_.open(); const Ring* ring : *open) look(*ring);
  }
  // The submitted positions of the busy rings of this device and its tiles.
  std::vector<RingPoint> submitted();

  Device(Driver& driver, Device* parent, Backend& backend, Properties properties, uint32_t index);
  void add_tile(Device* tile) { tiles_.push_back(tile); }

  // At start-up only (visibility.cpp): sets the tiles that a program sees, and shows the device with their sum; or shows a tile as
  // a device without a root.
  void show(std::vector<Device*> tiles);
  void stand_alone();
  void identify(uint32_t identifier) { identifier_ = identifier; }

 private:
  bool charge_own(uint64_t size);
  void read_limits();

  Driver& driver_;
  Device* parent_;
  Backend& backend_;
  Properties properties_;
  uint32_t index_;
  bool pages_on_demand_ = true;
  uint64_t memory_total_ = 0;
  uint64_t max_allocation_ = 0;
  uint32_t memories_ = 0;
  std::atomic<uint64_t> memory_used_{0};
  std::vector<Device*> tiles_;
  std::vector<Device*> shown_tiles_;
  Device* shown_root_ = nullptr;
  uint32_t identifier_ = kHidden;
  std::vector<Group> groups_;
  Guarded<std::vector<Ring*>> rings_;
};

}  // namespace anyzero
