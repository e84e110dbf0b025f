#include "description.h"

#include <cstring>

#include "../abi/gen/structures.h"
#include "../backends/backend.h"
#include "../exec/settings.h"
#include "context.h"
#include "device.h"
#include "driver.h"
#include "visibility.h"

namespace anyzero {

namespace {

struct FileHeader {
  char magic[8];
  uint32_t settings;
  uint32_t texts;
  uint32_t drivers;
  uint32_t reserved;
};
struct SettingRecord {
  char name[24];
  uint64_t value;
};
struct TextRecord {
  char name[24];
  uint64_t size;
};
struct DriverRecord {
  uint32_t kind;
  uint32_t blobs;
  uint32_t extensions;
  uint32_t devices;
};
struct DeviceRecord {
  char backend[8];
  uint32_t blobs;
  uint32_t tiles;
};
struct BlobRecord {
  uint32_t stype;
  uint32_t count;
  uint32_t size;
  uint32_t extends;
};

constexpr uint32_t kMostDevices = 64;  // residency is kept as one bit a device
constexpr uint32_t kMostQueues = 1024;

}  // namespace

bool Description::take(void* to, size_t size) {
  if (static_cast<size_t>(end_ - at_) < size) return false;
  if (size) std::memcpy(to, at_, size);  // an empty vector has no address
  at_ += size;
  return true;
}

bool Description::skip_to_8(size_t taken) {
  size_t padding = (8 - taken % 8) % 8;
  if (static_cast<size_t>(end_ - at_) < padding) return false;
  at_ += padding;
  return true;
}

bool Description::read_settings(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    SettingRecord record;
    if (!take(&record, sizeof record)) return false;
    std::string name(record.name, strnlen(record.name, sizeof record.name));
    if (name == "threads") settings.threads = record.value;
    if (name == "spin_ns") settings.spin_ns = record.value;
    if (name == "inline_bytes") settings.inline_bytes = record.value;
    if (name == "kernel_timeout_ms") settings.kernel_timeout_ms = record.value;
    if (name == "strict") settings.strict = record.value;
    if (name == "log_level") settings.log_level = record.value;
    if (name == "npu_cache_bytes") settings.npu_cache_bytes = record.value;
  }
  return true;
}

bool Description::read_texts(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    TextRecord record;
    if (!take(&record, sizeof record) || static_cast<size_t>(end_ - at_) < record.size) return false;
    std::string text(reinterpret_cast<const char*>(at_), record.size);
    at_ += record.size;
    // They become C strings, and one that ends early would name another file.
    if (text.find('\0') != std::string::npos || !skip_to_8(text.size())) return false;
    std::string name(record.name, strnlen(record.name, sizeof record.name));
    if (name == "npu_cache") settings.npu_cache = std::move(text);
    if (name == "openvino") settings.openvino = std::move(text);
    if (name == "openvino_version") settings.openvino_version = std::move(text);
  }
  return true;
}

bool Description::read_properties(uint32_t count, Properties* properties) {
  for (uint32_t i = 0; i < count; ++i) {
    BlobRecord record;
    if (!take(&record, sizeof record)) return false;
    size_t size = size_t{record.count} * record.size;
    if (record.count == 0 || static_cast<size_t>(end_ - at_) < size) return false;
    if (record.size != structure_size(record.stype)) return false;
    Properties::Image image{record.stype, record.count, record.size, record.extends, std::vector<unsigned char>(size)};
    if (!take(image.bytes.data(), size) || !skip_to_8(size)) return false;
    properties->add(std::move(image));
  }
  return true;
}

bool Description::read_device(Driver& driver, Device* parent) {
  DeviceRecord record;
  if (!take(&record, sizeof record) || devices_ == kMostDevices || (parent && record.tiles)) return false;
  // The processor is behind both; what they are asked to run differs.
  const char* backend = driver.type() == Driver::Type::Npu ? "npu" : "cpu";
  if (strncmp(record.backend, backend, sizeof record.backend) != 0) return false;
  Properties properties;
  if (!read_properties(record.blobs, &properties)) return false;
  for (uint32_t i = 0; i < properties.count(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES); ++i)
    if (properties.get<ze_command_queue_group_properties_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES, i)->numQueues >
        kMostQueues)
      return false;
  Device* device = Device::make(driver, parent, cpu_backend(), std::move(properties), devices_++);
  if (parent) {
    parent->add_tile(device);
  } else {
    driver.cards_.push_back(device);
  }
  for (uint32_t i = 0; i < record.tiles; ++i)
    if (!read_device(driver, device)) return false;
  return true;
}

bool Description::read_driver(std::vector<Driver*>* drivers) {
  DriverRecord record;
  if (!take(&record, sizeof record) || record.kind < 1 || record.kind > 2) return false;
  Properties properties;
  if (!read_properties(record.blobs, &properties)) return false;
  if (record.extensions > static_cast<size_t>(end_ - at_) / sizeof(ze_driver_extension_properties_t)) return false;
  std::vector<ze_driver_extension_properties_t> extensions(record.extensions);
  size_t size = record.extensions * sizeof(ze_driver_extension_properties_t);
  if (!take(extensions.data(), size) || !skip_to_8(size)) return false;
  Driver* driver = Driver::make(static_cast<Driver::Type>(record.kind), std::move(properties), std::move(extensions));
  drivers->push_back(driver);
  for (uint32_t i = 0; i < record.devices; ++i)
    if (!read_device(*driver, nullptr)) return false;
  Visibility::from_environment().apply(*driver);
  driver->default_context_ = Context::make(*driver, driver->devices_);
  return true;
}

bool Description::build(std::vector<Driver*>* drivers, std::string* reason) {
  FileHeader header;
  bool good = take(&header, sizeof header) && std::memcmp(header.magic, "AZDESC03", 8) == 0 && read_settings(header.settings) &&
              read_texts(header.texts);
  for (uint32_t i = 0; good && i < header.drivers; ++i) good = read_driver(drivers);
  if (!good) {
    // Drivers made so far stay unreachable; this happens at most once per attempt to start.
    drivers->clear();
    *reason = "the description of the devices is damaged; write it anew with `python -m anyzero.driver`";
  }
  identify_devices(*drivers);
  return good;
}

}  // namespace anyzero
