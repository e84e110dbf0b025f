// An image: formatted memory of one to three dimensions. Storage is linear, so a copy is a strided copy.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "../../abi/handle.h"
#include "../../backends/backend.h"
#include "../../backends/image_view.h"
#include "../../system/mutex.h"
#include "sampler.h"

namespace anyzero {

class Context;
class Device;

// The memory behind an image and its views.
class ImageStorage {
 public:
  // nullptr, with an error text, if the device has too little memory left.
  static std::shared_ptr<ImageStorage> allocate(Device& device, size_t size);
  // Uses memory of the program, which keeps its ownership.
  static std::shared_ptr<ImageStorage> borrow(Device& device, void* base, size_t size);
  ~ImageStorage();

  unsigned char* base() const;
  size_t size() const { return size_; }
  bool borrowed() const { return !owned_; }
  uint64_t id() const { return id_; }

  ImageStorage(Device& device, size_t size);

 private:
  Device& device_;
  size_t size_;
  uint64_t id_;
  bool owned_ = false;
  Backend::Block block_;
};

// Threading: immutable but for residency; any thread.
class Image : public Object<Image, Kind::Image> {
 public:
  static ze_result_t getProperties(Device& device, const ze_image_desc_t* desc, ze_image_properties_t* properties);
  static ze_result_t create(Context& context, Device& device, const ze_image_desc_t* desc, ze_image_handle_t* handle);
  static ze_result_t viewCreateExt(Context& context, Device& device, const ze_image_desc_t* desc, Image& image,
                                   ze_image_handle_t* handle);
  static ze_result_t viewCreateExp(Context& context, Device& device, const ze_image_desc_t* desc, Image& image,
                                   ze_image_handle_t* handle);
  static ze_result_t getAllocPropertiesExt(Context& context, Image& image, ze_image_allocation_ext_properties_t* properties);
  ze_result_t getMemoryPropertiesExp(ze_image_memory_properties_exp_t* properties);
  ze_result_t getDeviceOffsetExp(uint64_t* offset);
  ze_result_t destroy();

  const ImageView& view() const { return view_; }
  const ImageStorage& storage() const { return *storage_; }
  Context& context() const { return *context_; }
  Device& device() const { return device_; }

  void set_resident(Device& device, bool resident);
  bool resident(Device& device) const;
  // An image is charged to its own device as long as it lives, and to others while it is resident there. False if one has no room.
  bool take_room(Device& device);
  void give_room_back(Device& device);

  Image(Context& context, Device& device, const ImageView& view, std::shared_ptr<ImageStorage> storage);
  ~Image();

 private:
  Ref<Context> context_;
  Device& device_;
  ImageView view_;
  std::shared_ptr<ImageStorage> storage_;  // shared with views, so that each may outlive the other
  std::atomic<uint64_t> resident_{0};      // a bit per Device::index()
  Guarded<std::vector<Device*>> copies_;   // other devices that account for it
};

}  // namespace anyzero
