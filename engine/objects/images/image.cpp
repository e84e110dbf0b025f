#include "image.h"

#include <algorithm>
#include <atomic>

#include "../../abi/error.h"
#include "../../abi/properties.h"
#include "../devices/context.h"
#include "../devices/device.h"
#include "../memory/memory_account.h"

namespace anyzero {
namespace {

// The pNext chain of an image descriptor.
struct Extras {
  bool pitched = false;
  void* pointer = nullptr;
  size_t row_pitch = 0;
  size_t slice_pitch = 0;
  bool has_plane = false;
  uint32_t plane = 0;
  bool srgb = false;
  bool sampled = false;
  SamplerState sampler;
};

bool is_array(ze_image_type_t type) { return type == ZE_IMAGE_TYPE_1DARRAY || type == ZE_IMAGE_TYPE_2DARRAY; }

bool has_height(ze_image_type_t type) {
  return type == ZE_IMAGE_TYPE_2D || type == ZE_IMAGE_TYPE_2DARRAY || type == ZE_IMAGE_TYPE_3D;
}

const ze_device_image_properties_t* limits_of(const Device& device) {
  return device.properties().get<ze_device_image_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES);
}

// The longest side of an image of that type, in bytes for a buffer; 0 if the device has no such images.
uint64_t longest_side(const ze_device_image_properties_t& limits, ze_image_type_t type) {
  if (is_array(type) && limits.maxImageArraySlices == 0) return 0;
  switch (type) {
    case ZE_IMAGE_TYPE_1D:
    case ZE_IMAGE_TYPE_1DARRAY:
      return limits.maxImageDims1D;
    case ZE_IMAGE_TYPE_2D:
    case ZE_IMAGE_TYPE_2DARRAY:
      return limits.maxImageDims2D;
    case ZE_IMAGE_TYPE_3D:
      return limits.maxImageDims3D;
    case ZE_IMAGE_TYPE_BUFFER:
      return limits.maxImageBufferSize;
    default:
      return 0;
  }
}

bool wants_srgb(const ze_image_desc_t& desc) {
  auto* srgb = find_desc<ze_srgb_ext_desc_t>(desc.pNext, ZE_STRUCTURE_TYPE_SRGB_EXT_DESC);
  return srgb && srgb->sRGB;
}

ze_result_t read_bindless(const ze_image_desc_t& desc, Extras* extras) {
  auto* bindless = find_desc<ze_image_bindless_exp_desc_t>(desc.pNext, ZE_STRUCTURE_TYPE_BINDLESS_IMAGE_EXP_DESC);
  if (!bindless) return ZE_RESULT_SUCCESS;
  if (bindless->flags & ~uint32_t{ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS | ZE_IMAGE_BINDLESS_EXP_FLAG_SAMPLED_IMAGE})
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "unknown bits in the bindless image flags 0x%x", bindless->flags);
  if (!(bindless->flags & ZE_IMAGE_BINDLESS_EXP_FLAG_SAMPLED_IMAGE)) return ZE_RESULT_SUCCESS;
  auto* sampler = find_desc<ze_sampler_desc_t>(desc.pNext, ZE_STRUCTURE_TYPE_SAMPLER_DESC);
  if (!sampler)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "a bindless sampled image needs a ze_sampler_desc_t in its pNext chain");
  extras->sampled = true;
  return Sampler::read(*sampler, &extras->sampler);
}

ze_result_t read_chain(const ze_image_desc_t& desc, Extras* extras) {
  for (ze_structure_type_t stype : {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_WIN32,
                                    ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC})
    if (find_next(desc.pNext, stype))
      return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                  "images cannot be imported or exported; share memory and lay a pitched image over it");

  if (auto* pitched = find_desc<ze_image_pitched_exp_desc_t>(desc.pNext, ZE_STRUCTURE_TYPE_PITCHED_IMAGE_EXP_DESC)) {
    if (!pitched->ptr) return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "ze_image_pitched_exp_desc_t::ptr is null");
    extras->pitched = true;
    extras->pointer = pitched->ptr;
  }
  if (auto* custom = find_desc<ze_custom_pitch_exp_desc_t>(desc.pNext, ZE_STRUCTURE_TYPE_CUSTOM_PITCH_EXP_DESC)) {
    extras->row_pitch = custom->rowPitch;
    extras->slice_pitch = custom->slicePitch;
  }
  if (auto* plane = find_desc<ze_image_view_planar_ext_desc_t>(desc.pNext, ZE_STRUCTURE_TYPE_IMAGE_VIEW_PLANAR_EXT_DESC)) {
    extras->has_plane = true;
    extras->plane = plane->planeIndex;
  } else if (auto* old = find_desc<ze_image_view_planar_exp_desc_t>(desc.pNext, ZE_STRUCTURE_TYPE_IMAGE_VIEW_PLANAR_EXP_DESC)) {
    extras->has_plane = true;
    extras->plane = old->planeIndex;
  }
  extras->srgb = wants_srgb(desc);
  return read_bindless(desc, extras);
}

ze_result_t check_side(const char* side, uint64_t size, uint64_t longest) {
  if (size == 0) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the image's %s is 0", side);
  if (size > longest)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "the image's %s is %llu, the device allows %llu", side,
                static_cast<unsigned long long>(size), static_cast<unsigned long long>(longest));
  return ZE_RESULT_SUCCESS;
}

// All fields of the view except its addresses.
ze_result_t read_shape(const Device& device, const ze_image_desc_t& desc, const Extras& extras, ImageView* view) {
  auto* limits = limits_of(device);
  uint64_t longest = limits ? longest_side(*limits, desc.type) : 0;
  if (longest == 0) return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "this device has no images of type %u", desc.type);
  const ImageFormat* layout = image_format(desc.format.layout);
  const ImageFormat* format = image_format(desc.type, desc.format);
  if (!format)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, "layout %s does not go with format type %u in images of type %u",
                layout ? layout->name : "?", desc.format.type, desc.type);
  if (extras.srgb && !format->allows_srgb(desc.format.type))
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, "sRGB goes with 8 bit UNORM components, not with layout %s",
                format->name);
  if (desc.miplevels != 0) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "miplevels must be 0, not %u", desc.miplevels);

  if (ze_result_t result = check_side("width", desc.width, longest)) return result;
  if (has_height(desc.type))
    if (ze_result_t result = check_side("height", desc.height, longest)) return result;
  if (desc.type == ZE_IMAGE_TYPE_3D)
    if (ze_result_t result = check_side("depth", desc.depth, longest)) return result;
  if (is_array(desc.type))
    if (ze_result_t result = check_side("number of array levels", desc.arraylevels, limits->maxImageArraySlices)) return result;

  view->type = desc.type;
  view->desc = desc.format;
  view->format = format;
  view->width = desc.width;
  view->height = has_height(desc.type) ? desc.height : 1;
  view->slices = desc.type == ZE_IMAGE_TYPE_3D ? desc.depth : is_array(desc.type) ? desc.arraylevels : 1;
  view->srgb = extras.srgb;
  view->sampled = extras.sampled;
  view->sampler = extras.sampler;
  if (desc.type == ZE_IMAGE_TYPE_BUFFER) {
    uint64_t element = format->planes[0].bytes;
    if (desc.width % element)
      return fail(ZE_RESULT_ERROR_INVALID_SIZE, "a buffer of %llu bytes holds no whole number of %llu byte elements",
                  static_cast<unsigned long long>(desc.width), static_cast<unsigned long long>(element));
    view->width = desc.width / element;
  }
  return ZE_RESULT_SUCCESS;
}

// The planes of one slice and the slice pitch: ours, or those that the program requested.
ze_result_t read_pitches(const Device& device, const Extras& extras, const ImageView& view, SliceLayout* layout,
                         size_t* slice_pitch) {
  if (extras.row_pitch == 0) {
    *layout = lay_out(*view.format, view.width, view.height, kRowAlignment);
  } else {
    auto* info = device.properties().get<ze_pitched_alloc_2dimage_linear_pitch_exp_info_t>(
        ZE_STRUCTURE_TYPE_PITCHED_ALLOC_2DIMAGE_LINEAR_PITCH_EXP_INFO);
    if (info && info->pitchAlign && extras.row_pitch % info->pitchAlign)
      return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "the row pitch %zu is not a multiple of %zu", extras.row_pitch,
                  info->pitchAlign);
    if (info && info->maxSupportedPitch && extras.row_pitch > info->maxSupportedPitch)
      return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "the row pitch %zu is over %zu", extras.row_pitch, info->maxSupportedPitch);
    if (!lay_out_pitched(*view.format, view.width, view.height, extras.row_pitch, layout))
      return fail(ZE_RESULT_ERROR_INVALID_SIZE, "rows of %llu pixels do not fit a row pitch of %zu bytes",
                  static_cast<unsigned long long>(view.width), extras.row_pitch);
  }
  *slice_pitch = extras.slice_pitch ? extras.slice_pitch : layout->bytes;
  if (extras.slice_pitch && (*slice_pitch < layout->bytes || *slice_pitch % layout->row_pitch[0]))
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the slice pitch %zu must be a multiple of the row pitch %zu and at least %zu",
                *slice_pitch, layout->row_pitch[0], layout->bytes);
  return ZE_RESULT_SUCCESS;
}

ze_result_t check_same_context(const Context& context, const Image& image) {
  if (&context == &image.context()) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the image belongs to another context");
}

uint64_t next_id() {
  // The high bit keeps images apart from memory allocations, which are counted elsewhere.
  static std::atomic<uint64_t> counter{uint64_t{1} << 63};
  return counter.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

ImageStorage::ImageStorage(Device& device, size_t size) : device_(device), size_(size), id_(next_id()) {}

std::shared_ptr<ImageStorage> ImageStorage::allocate(Device& device, size_t size) {
  auto storage = std::make_shared<ImageStorage>(device, size);
  if (charge(&device, size)) {
    if (device.backend().allocate(size, kRowAlignment, &storage->block_)) {
      storage->owned_ = true;
      return storage;
    }
    device.refund(size);
  }
  fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "no room for an image of %zu bytes: %llu of %llu bytes are in use", size,
       static_cast<unsigned long long>(device.memory_used()), static_cast<unsigned long long>(device.memory_total()));
  return nullptr;
}

std::shared_ptr<ImageStorage> ImageStorage::borrow(Device& device, void* base, size_t size) {
  auto storage = std::make_shared<ImageStorage>(device, size);
  storage->block_.base = base;
  return storage;
}

ImageStorage::~ImageStorage() {
  if (!owned_) return;
  device_.backend().free(block_);
  device_.refund(size_);
}

unsigned char* ImageStorage::base() const { return static_cast<unsigned char*>(block_.base); }

Image::Image(Context& context, Device& device, const ImageView& view, std::shared_ptr<ImageStorage> storage)
    : context_(&context), device_(device), view_(view), storage_(std::move(storage)) {}

Image::~Image() {
  for (Device* copy : *copies_.open()) copy->refund(storage_->size());
}

ze_result_t Image::getProperties(Device& device, const ze_image_desc_t* desc, ze_image_properties_t* properties) {
  auto* limits = limits_of(device);
  const ImageFormat* format = image_format(desc->type, desc->format);
  bool supported =
      format && limits && longest_side(*limits, desc->type) && (!wants_srgb(*desc) || format->allows_srgb(desc->format.type));
  properties->samplerFilterFlags = 0;
  // Image buffers are read without a sampler.
  if (supported && limits->maxSamplers && desc->type != ZE_IMAGE_TYPE_BUFFER) {
    properties->samplerFilterFlags = ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT;
    if (format->filterable(desc->format.type)) properties->samplerFilterFlags |= ZE_IMAGE_SAMPLER_FILTER_FLAG_LINEAR;
  }
  if (auto* support = find_property<ze_image_format_support_ext_properties_t>(
          properties->pNext, ZE_STRUCTURE_TYPE_IMAGE_FORMAT_SUPPORT_EXT_PROPERTIES))
    support->supported = supported;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Image::create(Context& context, Device& device, const ze_image_desc_t* desc, ze_image_handle_t* handle) {
  if (ze_result_t result = context.require(device)) return result;
  Extras extras;
  if (ze_result_t result = read_chain(*desc, &extras)) return result;
  ImageView view{};
  if (ze_result_t result = read_shape(device, *desc, extras, &view)) return result;
  SliceLayout layout;
  if (ze_result_t result = read_pitches(device, extras, view, &layout, &view.slice_pitch)) return result;

  size_t size;
  if (__builtin_mul_overflow(view.slice_pitch, size_t{view.slices}, &size))
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "%u slices of %zu bytes exceed the address space", view.slices, view.slice_pitch);
  auto storage = extras.pitched ? ImageStorage::borrow(device, extras.pointer, size) : ImageStorage::allocate(device, size);
  if (!storage) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  for (uint32_t i = 0; i < view.format->n_planes; ++i) view.planes[i] = {storage->base() + layout.offset[i], layout.row_pitch[i]};
  *handle = handle_of<ze_image_handle_t>(Image::make(context, device, view, std::move(storage)));
  return ZE_RESULT_SUCCESS;
}

ze_result_t Image::viewCreateExt(Context& context, Device& device, const ze_image_desc_t* desc, Image& image,
                                 ze_image_handle_t* handle) {
  if (ze_result_t result = context.require(device)) return result;
  if (ze_result_t result = check_same_context(context, image)) return result;
  if (!device.is_or_is_tile_of(image.device()))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the image was created for another device");
  Extras extras;
  if (ze_result_t result = read_chain(*desc, &extras)) return result;
  ImageView view{};
  if (ze_result_t result = read_shape(device, *desc, extras, &view)) return result;

  const ImageView& whole = image.view();
  const ImageFormat& mine = *view.format;
  const ImageFormat& theirs = *whole.format;
  if (extras.has_plane && extras.plane >= theirs.n_planes)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "layout %s has no plane %u", theirs.name, extras.plane);
  uint32_t first = extras.has_plane ? extras.plane : 0;
  bool one_plane = mine.n_planes == 1 && (extras.has_plane || theirs.n_planes == 1);
  // A single plane may be viewed with other elements (YUYV as 8_8_8_8); several planes need the same elements.
  if (one_plane ? mine.planes[0].bytes != theirs.planes[first].bytes : extras.has_plane || !mine.same_elements(theirs))
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, "layout %s cannot view layout %s%s: the elements differ in size",
                mine.name, theirs.name, extras.has_plane ? "'s plane" : "");
  for (uint32_t i = 0; i < mine.n_planes; ++i) {
    const ImagePlane& plane = theirs.planes[first + i];
    if (mine.planes[i].columns(view.width) > plane.columns(whole.width) ||
        mine.planes[i].rows(view.height) > plane.rows(whole.height) || view.slices > whole.slices)
      return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "the view is larger than plane %u of the image", first + i);
    view.planes[i] = whole.planes[first + i];
  }
  view.slice_pitch = whole.slice_pitch;
  *handle = handle_of<ze_image_handle_t>(Image::make(context, device, view, image.storage_));
  return ZE_RESULT_SUCCESS;
}

ze_result_t Image::viewCreateExp(Context& context, Device& device, const ze_image_desc_t* desc, Image& image,
                                 ze_image_handle_t* handle) {
  return viewCreateExt(context, device, desc, image, handle);
}

ze_result_t Image::getAllocPropertiesExt(Context& context, Image& image, ze_image_allocation_ext_properties_t* properties) {
  if (ze_result_t result = check_same_context(context, image)) return result;
  properties->id = image.storage_->id();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Image::getMemoryPropertiesExp(ze_image_memory_properties_exp_t* properties) {
  properties->size = storage_->size();
  properties->rowPitch = view_.planes[0].row_pitch;
  properties->slicePitch = view_.slice_pitch;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Image::getDeviceOffsetExp(uint64_t* offset) {
  *offset = reinterpret_cast<uint64_t>(&view_);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Image::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

void Image::set_resident(Device& device, bool resident) {
  uint64_t bit = uint64_t{1} << device.index();
  if (resident) {
    resident_.fetch_or(bit, std::memory_order_acq_rel);
  } else {
    resident_.fetch_and(~bit, std::memory_order_acq_rel);
  }
}

bool Image::take_room(Device& device) {
  if (&device.root() == &device_.root()) return true;
  auto copies = copies_.open();
  if (std::find(copies->begin(), copies->end(), &device) != copies->end()) return true;
  if (!charge(&device, storage_->size())) return false;
  copies->push_back(&device);
  return true;
}

void Image::give_room_back(Device& device) {
  if (std::erase(*copies_.open(), &device)) device.refund(storage_->size());
}

bool Image::resident(Device& device) const { return resident_.load(std::memory_order_acquire) >> device.index() & 1; }

}  // namespace anyzero
