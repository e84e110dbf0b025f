#include "description.h"

#include <cstring>

#include "../../abi/gen/structures.h"
#include "../../backends/backend.h"
#include "../../layouts/gen/description.h"
#include "../../system/settings.h"
#include "context.h"
#include "device.h"
#include "driver.h"
#include "visibility.h"

namespace anyzero {

namespace {

constexpr uint32_t kMostDevices = 64;  // residency is kept as one bit a device
constexpr uint32_t kMostQueues = 1024;

// A name in a field of fixed size, with zeros behind it.
template <size_t n>
std::string_view name_in(const char (&field)[n]) {
  return {field, strnlen(field, n)};
}

}  // namespace

bool Description::read_settings(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const auto record = reader_.record<SettingRecord>();
    if (!reader_.good()) return false;
    const std::string_view name = name_in(record.name);
    if (name == "threads") settings.threads = record.value;
    if (name == "spin_ns") settings.spin_ns = record.value;
    if (name == "inline_bytes") settings.inline_bytes = record.value;
    if (name == "kept_bytes") settings.kept_bytes = record.value;
    if (name == "kernel_timeout_ms") settings.kernel_timeout_ms = record.value;
    if (name == "strict") settings.strict = record.value;
    if (name == "slow_wait_ms") settings.slow_wait_ms = record.value;
    if (name == "log_level") settings.log_level = record.value;
    if (name == "npu_cache_bytes") settings.npu_cache_bytes = record.value;
  }
  return true;
}

bool Description::read_texts(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const auto record = reader_.record<TextRecord>();
    const std::string_view text = reader_.take(record.size);
    reader_.skip_to_8(record.size);
    // The texts become C strings, and a zero byte inside would name another file.
    if (!reader_.good() || text.find('\0') != text.npos) return false;
    const std::string_view name = name_in(record.name);
    if (name == "npu_cache") settings.npu_cache = text;
    if (name == "openvino") settings.openvino = text;
    if (name == "openvino_version") settings.openvino_version = text;
  }
  return true;
}

bool Description::read_properties(uint32_t count, Properties* properties) {
  for (uint32_t i = 0; i < count; ++i) {
    const auto record = reader_.record<PropertyRecord>();
    const size_t size = size_t{record.structures} * record.size;
    const std::string_view bytes = reader_.take(size);
    reader_.skip_to_8(size);
    if (!reader_.good() || record.structures == 0 || record.size != structure_size(record.stype)) return false;
    properties->add({record.stype, record.structures, record.size, record.extends, {bytes.begin(), bytes.end()}});
  }
  return true;
}

bool Description::read_device(Driver& driver, Device* parent) {
  const auto record = reader_.record<DeviceRecord>();
  if (!reader_.good() || devices_ == kMostDevices || (parent && record.tiles)) return false;
  // Both run on the processor, but run different kinds of work.
  const char* backend = driver.kind() == DriverKind::Npu ? "npu" : "cpu";
  if (name_in(record.backend) != backend) return false;
  Properties properties;
  if (!read_properties(record.properties, &properties)) return false;
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
  const auto record = reader_.record<DriverRecord>();
  const auto kind = static_cast<DriverKind>(record.kind);
  if (!reader_.good() || !is_known(kind)) return false;
  Properties properties;
  if (!read_properties(record.properties, &properties)) return false;
  const size_t size = record.extensions * sizeof(ze_driver_extension_properties_t);
  const std::string_view listed = reader_.take(size);
  reader_.skip_to_8(size);
  if (!reader_.good()) return false;
  std::vector<ze_driver_extension_properties_t> extensions(record.extensions);
  if (size) std::memcpy(extensions.data(), listed.data(), size);  // an empty vector has no address
  Driver* driver = Driver::make(kind, std::move(properties), std::move(extensions));
  drivers->push_back(driver);
  for (uint32_t i = 0; i < record.devices; ++i)
    if (!read_device(*driver, nullptr)) return false;
  Visibility::from_environment().apply(*driver);
  driver->default_context_ = Context::make(*driver, driver->devices_);
  return true;
}

bool Description::build(std::vector<Driver*>* drivers, std::string* reason) {
  const auto header = reader_.record<DescriptionHead>();
  bool good = std::string_view(header.magic, sizeof header.magic) == kDescriptionMagic && read_settings(header.settings) &&
              read_texts(header.texts);
  for (uint32_t i = 0; good && i < header.drivers; ++i) good = read_driver(drivers);
  if (!good) {
    // Drivers created so far are leaked; this happens at most once per attempt to start.
    drivers->clear();
    *reason = "the description of the devices is damaged; write it again with `python -m anyzero.driver`";
  }
  identify_devices(*drivers);
  return good;
}

}  // namespace anyzero
