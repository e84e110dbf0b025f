// The base of every Level Zero object: the loader's dispatch block, a tag that proves its type, and a reference count.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "gen/tables.h"
#include "gen/ze_api.h"
#include "slots.h"

namespace anyzero {

enum class Kind : uint32_t {
  Driver = 1,
  Device,
  Context,
  CommandQueue,
  CommandList,
  Fence,
  EventPool,
  Event,
  Image,
  Sampler,
  PhysicalMem,
  Module,
  ModuleBuildLog,
  Kernel,
  SysmanEngine,
  SysmanFan,
  SysmanFirmware,
  SysmanFrequency,
  SysmanMemory,
  SysmanPower,
  SysmanRas,
  SysmanTemperature,
  InferenceGraph,
  GraphBuildLog,
  NetworkQuery,
  ProfilingPool,
  ProfilingQuery,
  Graph,
  ExecutableGraph,
  FabricVertex,
  FabricEdge,
  ExternalSemaphore,
  MetricGroup,
  Metric,
  MetricQueryPool,
  MetricQuery,
  MetricStreamer,
};

struct UseRecord;
// Stands for more than one thread in `Header::user`.
inline const UseRecord* many_users() { return reinterpret_cast<const UseRecord*>(uintptr_t{1}); }

// A program's handle is the address of this block. A loader may dispatch through `ddi`, so it comes first.
struct Header {
  ze_handle_t ddi;
  std::atomic<uint32_t> tag;
  std::atomic<uint32_t> users;
  std::atomic<const UseRecord*> user;  // the thread that uses it by its handle: none yet, one, or many; see use.h
};

// Calls `release` now, or when the last thread inside the object has left. The handle is already invalid.
void release_when_unused(Header& object, void (*release)(Header*));

// Threading: retain and release from any thread; retire once per object, later calls return false.
template <class T, Kind K>
class Object : public Header {
 public:
  static constexpr uint32_t kTag = 0xA2E00000u | static_cast<uint32_t>(K);

  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  template <class... Args>
  static T* make(Args&&... args) {
    void* slot = pool().take();
    try {
      T* object = new (slot) T(std::forward<Args>(args)...);
      object->tag.store(kTag, std::memory_order_release);
      return object;
    } catch (...) {
      pool().give_back(slot);
      throw;
    }
  }

  void retain() { users.fetch_add(1, std::memory_order_relaxed); }

  void release() {
    if (users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    T* self = static_cast<T*>(this);
    tag.store(0, std::memory_order_relaxed);
    self->~T();
    pool().give_back(self);
  }

  // Invalidates the handle now; the object lives until its last reference is released.
  bool retire() {
    uint32_t expected = kTag;
    if (!tag.compare_exchange_strong(expected, 0, std::memory_order_seq_cst)) return false;
    if (user.load(std::memory_order_seq_cst) == nullptr) {
      release();
    } else {
      release_when_unused(*this, [](Header* self) { static_cast<T*>(self)->release(); });
    }
    return true;
  }

  bool alive() const { return tag.load(std::memory_order_acquire) == kTag; }

 protected:
  Object() {
    ddi = ddi_handle;
    tag.store(0, std::memory_order_relaxed);
    users.store(1, std::memory_order_relaxed);
    user.store(nullptr, std::memory_order_relaxed);
  }
  ~Object() = default;

 private:
  static SlotPool& pool() {
    static SlotPool* pool = new SlotPool(sizeof(T));  // leaked: objects are destroyed from exit handlers
    return *pool;
  }
};

// A child's reference to its parent.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }

  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace anyzero
