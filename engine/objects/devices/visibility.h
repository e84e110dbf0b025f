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

// Read from the environment at start-up, also if the description comes from a file: launchers set the variables for each process.
class Visibility {
 public:
  // The devices that zeDeviceGet lists: cards, whose tiles are sub-devices; tiles; or tiles, whose cards are root devices.
  enum class Hierarchy { Composite, Flat, Combined };

  static Visibility from_environment();
  // Null stands for an unset variable.
  Visibility(const char* hierarchy, const char* mask);

  // Applied once to all devices of a driver, before any is shown. Not to the NPU: it is the only device of its driver, and hardware
  // drivers for NPUs ignore the mask.
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

// Numbers the visible devices of all drivers: a device and its tiles, then the next; then cards that are only reached by their
// tiles.
void identify_devices(const std::vector<Driver*>& drivers);

// "ZE_AFFINITY_MASK=7 hides every device" if no device is left; otherwise empty.
std::string why_nothing_is_shown();

}  // namespace anyzero
