#include "visibility.h"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "device.h"
#include "driver.h"

namespace anyzero {

namespace {

constexpr const char* kMask = "ZE_AFFINITY_MASK";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

bool read_number(std::string_view text, uint32_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number != UINT32_MAX;
}

// An empty variable counts as unset.
const char* value_of(const char* text) { return text && !trimmed(text).empty() ? text : nullptr; }

// Adds a member of the tiles' property up in that of their device.
template <class T, class Member>
void add_up(Properties& to, const std::vector<Device*>& tiles, ze_structure_type_t stype, Member T::* member) {
  T* sum = to.edit<T>(stype);
  if (!sum) return;
  sum->*member = 0;
  for (const Device* tile : tiles)
    if (auto* part = tile->properties().get<T>(stype)) sum->*member += part->*member;
}

}  // namespace

void Device::show(std::vector<Device*> tiles) {
  shown_tiles_ = std::move(tiles);
  for (Device* tile : shown_tiles_) tile->shown_root_ = this;
  if (shown_tiles_.size() == tiles_.size()) return;
  for (ze_structure_type_t stype : {ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2}) {
    add_up(properties_, shown_tiles_, stype, &ze_device_properties_t::maxMemAllocSize);
    add_up(properties_, shown_tiles_, stype, &ze_device_properties_t::numSubslicesPerSlice);
  }
  add_up(properties_, shown_tiles_, ZE_STRUCTURE_TYPE_EU_COUNT_EXT, &ze_eu_count_ext_t::numTotalEUs);
  add_up(properties_, shown_tiles_, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES, &ze_device_memory_properties_t::totalSize);
  add_up(properties_, shown_tiles_, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_EXT_PROPERTIES,
         &ze_device_memory_ext_properties_t::physicalSize);
  read_limits();
}

void Device::stand_alone() {
  for (ze_structure_type_t stype : {ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2})
    if (auto* core = properties_.edit<ze_device_properties_t>(stype))
      core->flags &= ~ze_device_property_flags_t{ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE};
}

Visibility Visibility::from_environment() { return {std::getenv("ZE_FLAT_DEVICE_HIERARCHY"), std::getenv(kMask)}; }

Visibility::Visibility(const char* hierarchy, const char* mask) : hierarchy_(Hierarchy::Composite), everything_(!value_of(mask)) {
  // Hardware drivers show flat devices by default. Here tiles exist only if ANYZERO_DEVICES asks for them, so they are shown.
  if (hierarchy && strcasecmp(hierarchy, "FLAT") == 0) hierarchy_ = Hierarchy::Flat;
  if (hierarchy && strcasecmp(hierarchy, "COMBINED") == 0) hierarchy_ = Hierarchy::Combined;
  if (everything_) return;
  for (std::string_view rest = mask;;) {
    const size_t comma = rest.find(',');
    const std::string_view entry = trimmed(rest.substr(0, comma));
    const size_t dot = entry.find('.');
    uint32_t device = 0, tile = kWhole;
    // An invalid number, or one that no device has, selects nothing.
    if (read_number(entry.substr(0, dot), &device) && (dot == entry.npos || read_number(entry.substr(dot + 1), &tile)))
      selected_.emplace_back(device, tile);
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
}

bool Visibility::selects(uint32_t device) const {
  return everything_ || std::find(selected_.begin(), selected_.end(), std::pair(device, kWhole)) != selected_.end();
}

bool Visibility::selects(uint32_t device, uint32_t tile) const {
  return selects(device) || std::find(selected_.begin(), selected_.end(), std::pair(device, tile)) != selected_.end();
}

void Visibility::show_composite(Driver& driver, Device& card, uint32_t number) const {
  std::vector<Device*> shown;
  for (uint32_t i = 0; i < card.tiles().size(); ++i)
    if (selects(number, i)) shown.push_back(card.tiles()[i]);
  // A single visible tile is shown as the device, and a device without tiles is its own first tile.
  if (shown.size() == 1) {
    shown.front()->stand_alone();
    driver.devices_.push_back(shown.front());
  } else if (!shown.empty() || (card.tiles().empty() && selects(number, 0))) {
    card.show(std::move(shown));
    driver.devices_.push_back(&card);
  }
}

void Visibility::apply(Driver& driver) const {
  if (driver.kind() == DriverKind::Npu) {
    driver.devices_ = driver.cards();
    return;
  }
  uint32_t number = 0;
  for (Device* card : driver.cards()) {
    if (hierarchy_ == Hierarchy::Composite) {
      show_composite(driver, *card, number++);
      continue;
    }
    // The mask numbers the devices that zeDeviceGet would list.
    std::vector<Device*> shown;
    const std::vector<Device*> itself{card};
    for (Device* device : card->tiles().empty() ? itself : card->tiles())
      if (selects(number++)) shown.push_back(device);
    driver.devices_.insert(driver.devices_.end(), shown.begin(), shown.end());
    if (card->tiles().empty() || shown.empty()) continue;
    if (hierarchy_ == Hierarchy::Combined) {
      card->show(std::move(shown));
    } else {
      for (Device* tile : shown) tile->stand_alone();
    }
  }
}

void identify_devices(const std::vector<Driver*>& drivers) {
  uint32_t next = 0;
  auto identify = [&](Device* device) {
    if (device && device->identifier() == Device::kHidden) device->identify(next++);
  };
  for (const Driver* driver : drivers) {
    for (Device* device : driver->devices()) {
      identify(device);
      for (Device* tile : device->shown_tiles()) identify(tile);
    }
    for (Device* device : driver->devices()) identify(device->shown_root());
  }
}

std::string why_nothing_is_shown() {
  const char* mask = value_of(std::getenv(kMask));
  return mask ? std::string(kMask) + "=" + mask + " hides every device" : std::string();
}

}  // namespace anyzero
