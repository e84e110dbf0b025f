// What the planner writes may come from a file: a damaged one is refused, and never more than that.
#include "objects/devices/description.h"

#include "layouts/gen/description.h"
#include "planning/planner.h"
#include "scene.h"
#include "system/settings.h"

using namespace anyzero;

namespace {

std::vector<unsigned char> good_description() {
  std::vector<unsigned char> bytes;
  std::string reason;
  if (!describe_machine(&bytes, &reason)) {
    std::fprintf(stderr, "%s\n", reason.c_str());
    std::abort();
  }
  return bytes;
}

// True when it was accepted. What was accepted must then answer every query within the structures of the specification.
bool read(const std::vector<unsigned char>& bytes) {
  Settings before = settings;
  std::vector<Driver*> drivers;
  std::string reason;
  bool accepted = Description(bytes).build(&drivers, &reason);
  settings = before;
  if (!accepted) {
    assert(drivers.empty() && !reason.empty());
    return false;
  }
  for (Driver* driver : drivers) {
    auto handle = reinterpret_cast<ze_driver_handle_t>(driver);
    uint32_t count = 0;
    OK(zeDeviceGet(handle, &count, nullptr));
    std::vector<ze_device_handle_t> devices(count);
    if (count) OK(zeDeviceGet(handle, &count, devices.data()));
    for (ze_device_handle_t device : devices) {
      // On the heap, where the address sanitizer sees a byte too much.
      auto ask = [&](auto query, auto zero) {
        auto properties = std::make_unique<decltype(zero)>(zero);
        query(device, properties.get());
      };
      ask(zeDeviceGetProperties, ze_device_properties_t{});
      ask(zeDeviceGetComputeProperties, ze_device_compute_properties_t{});
      ask(zeDeviceGetModuleProperties, ze_device_module_properties_t{});
      ask(zeDeviceGetMemoryAccessProperties, ze_device_memory_access_properties_t{});
      ask(zeDeviceGetImageProperties, ze_device_image_properties_t{});
      ask(zeDeviceGetExternalMemoryProperties, ze_device_external_memory_properties_t{});
      ask(zeDevicePciGetPropertiesExt, ze_pci_ext_properties_t{});
      count = 0;
      zeDeviceGetCommandQueueGroupProperties(device, &count, nullptr);
      std::vector<ze_command_queue_group_properties_t> groups(std::min(count, 100u));
      count = static_cast<uint32_t>(groups.size());
      if (count) zeDeviceGetCommandQueueGroupProperties(device, &count, groups.data());
    }
  }
  return true;
}

// The same with one more text, behind those there are: header, settings, texts, drivers.
std::vector<unsigned char> with_text(const std::vector<unsigned char>& bytes, const char* name, std::string text) {
  ByteReader reader(bytes);
  auto head = reader.record<DescriptionHead>();
  reader.take(head.settings * sizeof(SettingRecord));
  for (uint32_t i = 0; i < head.texts; ++i) reader.take((reader.record<TextRecord>().size + 7) / 8 * 8);
  const size_t end = bytes.size() - reader.rest().size();
  ++head.texts;
  TextRecord text_record{};
  std::memcpy(text_record.name, name, std::strlen(name));
  text_record.size = text.size();
  text.resize((text.size() + 7) / 8 * 8);
  ByteWriter writer;
  writer.record(text_record);
  writer.raw(text);
  const std::vector<unsigned char> record(writer.bytes().begin(), writer.bytes().end());
  std::vector<unsigned char> made = bytes;
  std::memcpy(made.data(), &head, sizeof head);
  made.insert(made.begin() + static_cast<ptrdiff_t>(end), record.begin(), record.end());
  return made;
}

void texts_reach_the_settings(const std::vector<unsigned char>& good) {
  Settings before = settings;
  std::vector<Driver*> drivers;
  std::string reason;
  const std::string path = "/some where/libopenvino_c.so.2641";
  bool accepted = Description(with_text(with_text(good, "npu_cache", ""), "openvino", path)).build(&drivers, &reason);
  assert(accepted && settings.openvino == path && settings.npu_cache.empty());
  settings = before;
  assert(read(with_text(good, "unknown", "1234567")));
  // A zero inside would cut the path short for the system.
  assert(!read(with_text(good, "openvino", std::string("/a\0/b", 5))));
}

}  // namespace

int main() {
  // One text at least, so that all that follows has one to damage.
  const std::vector<unsigned char> good = with_text(good_description(), "npu_cache", "/nowhere");
  assert(read(good));
  texts_reach_the_settings(good);
  // Cut off anywhere: refused.
  for (size_t length = 0; length < good.size(); length += length < 300 ? 1 : 61)
    assert(!read({good.begin(), good.begin() + static_cast<ptrdiff_t>(length)}));
  // Damaged anywhere: refused or harmless. Lengths and counts are the dangerous words, so words are hit as often as bytes.
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 1500; ++round) {
    std::vector<unsigned char> bytes = good;
    for (unsigned hits = 1 + random() % 3; hits; --hits) {
      size_t at = random() % bytes.size();
      if (random() % 2) {
        bytes[at] = static_cast<unsigned char>(random());
      } else {
        static constexpr uint32_t kWords[] = {0, 1, 2, 7, 15, 16, 17, 64, 65, 0x7fffffff, 0x80000000, 0xffffffff};
        uint32_t word = kWords[random() % std::size(kWords)];
        std::memcpy(&bytes[at / 4 * 4 % (bytes.size() - 4)], &word, 4);
      }
    }
    accepted += read(bytes);
  }
  assert(accepted > 0 && accepted < 1500);
  std::puts("description_test: ok");
  return 0;
}

#if defined(__SANITIZE_ADDRESS__)
// Drivers live as long as the process, refused ones too.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif
