// The devices that a program sees: the specification's ZE_FLAT_DEVICE_HIERARCHY and ZE_AFFINITY_MASK.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anyzero {

class Device;
class Driver;

// Read from the environment of the process at start-up, also where the description comes from a file: launchers set the variables
// for each process they start.
class Visibility {
 public:
  // The devices that zeDeviceGet lists: cards with their tiles behind them; tiles; tiles with their cards behind them.
  enum class Hierarchy { Composite, Flat, Combined };

  static Visibility from_environment();
  // Null stands for a variable that is not set.
  Visibility(const char* hierarchy, const char* mask);

  // Decides for all devices of a driver, once, before anybody has seen one. The NPU is the only device of its driver, and hardware
  // drivers for NPUs know no mask.
  void apply(Driver& driver) const;

 private:
  bool selects(uint32_t device) const;
  bool selects(uint32_t device, uint32_t tile) const;
  void show_composite(Driver& driver, Device& card, uint32_t number) const;

  static constexpr uint32_t kWhole = UINT32_MAX;
  Hierarchy hierarchy_;
  bool everything_;
  std::vector<std::pair<uint32_t, uint32_t>> selected_;  // device and tile, or kWhole
};

// Numbers what programs see, over all drivers: a device and its tiles, then the next; then cards that only their tiles lead to.
void identify_devices(const std::vector<Driver*>& drivers);

// "ZE_AFFINITY_MASK=7 hides every device" where no device is left; else empty.
std::string why_nothing_is_shown();

}  // namespace anyzero
