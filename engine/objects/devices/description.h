// Reads the planner's description and creates drivers and devices from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../../abi/properties.h"
#include "../../layouts/bytes.h"

namespace anyzero {

class Driver;
class Device;

// The bytes may come from a file, so nothing in them is trusted.
class Description {
 public:
  explicit Description(const std::vector<unsigned char>& bytes) : reader_(bytes) {}

  // All drivers, or false with the reason and no driver.
  bool build(std::vector<Driver*>* drivers, std::string* reason);

 private:
  bool read_settings(uint32_t count);
  bool read_texts(uint32_t count);
  bool read_properties(uint32_t count, Properties* properties);
  bool read_driver(std::vector<Driver*>* drivers);
  bool read_device(Driver& driver, Device* parent);

  ByteReader reader_;
  uint32_t devices_ = 0;
};

}  // namespace anyzero
