#include "device.h"

#include <algorithm>

#include "../../abi/error.h"
#include "../../system/clock.h"
#include "../../system/settings.h"
#include "../memory/memory.h"
#include "driver.h"

namespace anyzero {

namespace {
constexpr uint64_t kMostEngineThreads = 64;
}

Device::Device(Driver& driver, Device* parent, Backend& backend, Properties properties, uint32_t index)
    : driver_(driver), parent_(parent), backend_(backend), properties_(std::move(properties)), index_(index) {
  read_limits();
  for (uint32_t i = 0; i < properties_.count(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES); ++i) {
    auto* described = properties_.get<ze_command_queue_group_properties_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES, i);
    Group group{described->flags, described->maxMemoryFillPatternSize, {}};
    // Inferences run concurrently, and use threads of their own.
    const bool infers = driver.kind() == DriverKind::Npu && !group.copy_only();
    const auto threads = static_cast<uint32_t>(infers ? std::clamp<uint64_t>(settings.threads, 1, kMostEngineThreads) : 1);
    for (uint32_t q = 0; q < described->numQueues; ++q)
      group.engines.push_back(std::make_unique<Engine>(threads, i | uint64_t{q} << 32));
    groups_.push_back(std::move(group));
  }
}

void Device::read_limits() {
  if (auto* device = properties_.get<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES)) {
    pages_on_demand_ = (device->flags & ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING) != 0;
    max_allocation_ = device->maxMemAllocSize;
  }
  memories_ = properties_.count(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
  memory_total_ = 0;
  for (uint32_t i = 0; i < memories_; ++i)
    memory_total_ += properties_.get<ze_device_memory_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES, i)->totalSize;
}

ze_result_t Device::get(Driver& driver, uint32_t* count, ze_device_handle_t* handles) {
  return list_handles(driver.devices(), count, handles);
}

ze_result_t Device::getRootDevice(ze_device_handle_t* root) {
  *root = handle_of<ze_device_handle_t>(shown_root_);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getSubDevices(uint32_t* count, ze_device_handle_t* handles) {
  return list_handles(shown_tiles_, count, handles);
}

ze_result_t Device::getProperties(ze_device_properties_t* properties) {
  properties_.fill(properties, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
  auto* usable = find_property<ze_device_usablemem_size_ext_properties_t>(properties->pNext,
                                                                          ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES);
  if (usable) sweep_deferred_frees();
  if (usable) usable->currUsableMemSize = memory_total_ - std::min(memory_total_, memory_used());
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getComputeProperties(ze_device_compute_properties_t* properties) {
  properties_.fill(properties, ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getModuleProperties(ze_device_module_properties_t* properties) {
  properties_.fill(properties, ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getCommandQueueGroupProperties(uint32_t* count, ze_command_queue_group_properties_t* properties) {
  return properties_.fill_array(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES, count, properties, sizeof *properties);
}

ze_result_t Device::getMemoryProperties(uint32_t* count, ze_device_memory_properties_t* properties) {
  return properties_.fill_array(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES, count, properties, sizeof *properties);
}

ze_result_t Device::getMemoryAccessProperties(ze_device_memory_access_properties_t* properties) {
  properties_.fill(properties, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getCacheProperties(uint32_t* count, ze_device_cache_properties_t* properties) {
  return properties_.fill_array(ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES, count, properties, sizeof *properties);
}

ze_result_t Device::getImageProperties(ze_device_image_properties_t* properties) {
  properties_.fill(properties, ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getExternalMemoryProperties(ze_device_external_memory_properties_t* properties) {
  properties_.fill(properties, ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getP2PProperties(Device& peer, ze_device_p2p_properties_t* properties) {
  properties_.fill(properties, ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES);
  ze_bool_t reachable = false;
  canAccessPeer(peer, &reachable);
  if (!reachable) properties->flags = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::canAccessPeer(Device& peer, ze_bool_t* value) {
  // Devices of one backend share an address space, but no context holds devices of two drivers.
  *value = &peer.backend_ == &backend_ && &peer.driver_ == &driver_;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getStatus() { return ZE_RESULT_SUCCESS; }

ze_result_t Device::getGlobalTimestamps(uint64_t* host, uint64_t* device) {
  *host = *device = now_ns();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::synchronize() {
  ze_result_t result = ZE_RESULT_SUCCESS;
  for (RingPoint& point : submitted())
    if (ze_result_t r = point.wait()) result = r;
  return result;
}

ze_result_t Device::getAggregatedCopyOffloadIncrementValue(uint32_t* value) {
  *value = 1;  // copies are not split over engines
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getCounterBasedEventMaxValue(uint64_t* value) {
  *value = Signal::kFailed - 1;
  return ZE_RESULT_SUCCESS;
}

// No part of this device's caches can be set aside, so the only reservation there is has no bytes, and all memory is in the default
// region.
ze_result_t Device::reserveCacheExt(size_t level, size_t size) {
  if (level > properties_.count(ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the device has no cache of level %zu", level);
  return size == 0 ? ZE_RESULT_SUCCESS : fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "this device's caches cannot be reserved");
}

ze_result_t Device::setCacheAdviceExt(void*, size_t, ze_cache_ext_region_t region) {
  return region == ZE_CACHE_EXT_REGION_DEFAULT
             ? ZE_RESULT_SUCCESS
             : fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "this device's caches cannot be reserved");
}

ze_result_t Device::pciGetPropertiesExt(ze_pci_ext_properties_t* properties) {
  properties_.fill(properties, ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getVectorWidthPropertiesExt(uint32_t* count, ze_device_vector_width_properties_ext_t* properties) {
  return properties_.fill_array(ZE_STRUCTURE_TYPE_DEVICE_VECTOR_WIDTH_PROPERTIES_EXT, count, properties, sizeof *properties);
}

bool Device::charge_own(uint64_t size) {
  uint64_t used = memory_used_.load(std::memory_order_relaxed);
  do {
    if (size > memory_total_ - std::min(used, memory_total_)) return false;
  } while (!memory_used_.compare_exchange_weak(used, used + size, std::memory_order_relaxed));
  return true;
}

uint64_t Device::memory_free() const {
  const uint64_t own = memory_total_ - std::min(memory_total_, memory_used());
  return parent_ ? std::min(own, parent_->memory_free()) : own;
}

bool Device::charge(uint64_t size) {
  if (!charge_own(size)) return false;
  if (!parent_ || parent_->charge_own(size)) return true;
  memory_used_.fetch_sub(size, std::memory_order_relaxed);
  return false;
}

void Device::refund(uint64_t size) {
  memory_used_.fetch_sub(size, std::memory_order_relaxed);
  if (parent_) parent_->memory_used_.fetch_sub(size, std::memory_order_relaxed);
}

std::vector<RingPoint> Device::submitted() {
  std::vector<RingPoint> points;
  auto gather = [&](Guarded<std::vector<Ring*>>& rings) {
    for (auto open = rings.open(); Ring* ring : *open)
      if (!ring->idle() && ring->retain_if_alive()) points.emplace_back(ring, ring->submitted());
  };
  gather(rings_);
  for (Device* tile : tiles_) gather(tile->rings_);
  return points;
}

void Device::add_ring(Ring* ring) {
  auto open = rings_.open();
  ring->place = open->size();
  open->push_back(ring);
}

size_t Device::most_queues() const {
  auto* limits = properties().get<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
  return limits ? limits->maxHardwareContexts : SIZE_MAX;
}

void Device::remove_ring(Ring* ring) {
  auto open = rings_.open();
  // In a forked child the list was reset.
  if (ring->place < open->size() && (*open)[ring->place] == ring) {
    Ring* last = open->back();
    last->place = ring->place;
    (*open)[ring->place] = last;
    open->pop_back();
  }
  // Under the lock, so that a sum over all rings counts it once.
  ring->engine().keep_busy(ring->busy(now_ns()));
}

}  // namespace anyzero
