// Command lists: recorded for later, or immediate, which is a list with a ring of its own. Both write the same packets.
#pragma once

#include <vector>

#include "../../abi/handle.h"
#include "../../exec/program.h"
#include "../../exec/ring.h"
#include "../devices/context.h"
#include "../devices/device.h"
#include "../sync/event.h"
#include "command_queue.h"
#include "exclusive.h"

namespace anyzero {

class Kernel;
class ExternalSemaphore;
class Capture;
class ExecutableGraph;
class Graph;
class Inference;
struct Capturable;
struct KernelFacts;

// Threading: one thread at a time per list, as the specification requires; an immediate list allows several. If a program breaks
// that rule, or destroys a list in use, calls are serialized.
class CommandList : public Object<CommandList, Kind::CommandList> {
 public:
  static ze_result_t create(Context& context, Device& device, const ze_command_list_desc_t* desc, ze_command_list_handle_t* handle);
  static ze_result_t createImmediate(Context& context, Device& device, const ze_command_queue_desc_t* desc,
                                     ze_command_list_handle_t* handle);
  ze_result_t createCloneExp(ze_command_list_handle_t* clone);
  ze_result_t destroy();
  ze_result_t close();
  ze_result_t reset();
  ze_result_t hostSynchronize(uint64_t timeout);
  ze_result_t getDeviceHandle(ze_device_handle_t* device);
  ze_result_t getContextHandle(ze_context_handle_t* context);
  ze_result_t getOrdinal(uint32_t* ordinal);
  ze_result_t immediateGetIndex(uint32_t* index);
  ze_result_t isImmediate(ze_bool_t* value);
  ze_result_t getFlags(ze_command_list_flags_t* flags);
  ze_result_t immediateGetFlags(ze_command_queue_flags_t* flags);
  ze_result_t immediateGetMode(ze_command_queue_mode_t* mode);
  ze_result_t immediateGetPriority(ze_command_queue_priority_t* priority);
  // Mutable lists: command_list_mutable.cpp
  ze_result_t isMutableExp(ze_bool_t* value);
  ze_result_t getNextCommandIdExp(const ze_mutable_command_id_exp_desc_t* desc, uint64_t* id);
  ze_result_t getNextCommandIdWithKernelsExp(const ze_mutable_command_id_exp_desc_t* desc, uint32_t count, Kernel* const* kernels,
                                             uint64_t* id);
  ze_result_t updateMutableCommandKernelsExp(uint32_t count, uint64_t* ids, Kernel* const* kernels);
  ze_result_t updateMutableCommandsExp(const ze_mutable_commands_exp_desc_t* desc);
  ze_result_t updateMutableCommandSignalEventExp(uint64_t id, Event* signal);
  ze_result_t updateMutableCommandWaitEventsExp(uint64_t id, uint32_t n, Event* const* waits);

  ze_result_t appendWriteGlobalTimestamp(uint64_t* to, Event* signal, uint32_t n, Event* const* waits);
  ze_result_t appendBarrier(Event* signal, uint32_t n, Event* const* waits);
  ze_result_t appendMemoryRangesBarrier(uint32_t n_ranges, const size_t* sizes, const void** ranges, Event* signal, uint32_t n,
                                        Event* const* waits);
  ze_result_t appendMemoryCopy(void* to, const void* from, size_t size, Event* signal, uint32_t n, Event* const* waits);
  ze_result_t appendMemoryCopyWithParameters(void* to, const void* from, size_t size, const void* next, Event* signal, uint32_t n,
                                             Event* const* waits);
  ze_result_t appendMemoryFill(void* to, const void* pattern, size_t pattern_size, size_t size, Event* signal, uint32_t n,
                               Event* const* waits);
  ze_result_t appendMemoryFillWithParameters(void* to, const void* pattern, size_t pattern_size, size_t size, const void* next,
                                             Event* signal, uint32_t n, Event* const* waits);
  ze_result_t appendMemoryCopyRegion(void* to, const ze_copy_region_t* to_region, uint32_t to_pitch, uint32_t to_slice_pitch,
                                     const void* from, const ze_copy_region_t* from_region, uint32_t from_pitch,
                                     uint32_t from_slice_pitch, Event* signal, uint32_t n, Event* const* waits);
  ze_result_t appendMemoryCopyFromContext(void* to, Context& from_context, const void* from, size_t size, Event* signal, uint32_t n,
                                          Event* const* waits);
  ze_result_t appendMemoryPrefetch(const void* pointer, size_t size);
  ze_result_t appendMemAdvise(Device& device, const void* pointer, size_t size, ze_memory_advice_t advice);
  ze_result_t appendSignalEvent(Event& event);
  ze_result_t appendWaitOnEvents(uint32_t n, Event* const* events);
  ze_result_t appendEventReset(Event& event);
  ze_result_t appendQueryKernelTimestamps(uint32_t n_events, Event* const* events, void* to, const size_t* offsets, Event* signal,
                                          uint32_t n, Event* const* waits);
  ze_result_t appendHostFunction(ze_host_function_callback_t function, void* argument, const void* next, Event* signal, uint32_t n,
                                 Event* const* waits);
  ze_result_t immediateAppendCommandListsExp(uint32_t n_lists, CommandList* const* lists, Event* signal, uint32_t n,
                                             Event* const* waits);
  ze_result_t immediateAppendCommandListsWithParameters(uint32_t n_lists, CommandList* const* lists, const void* next,
                                                        Event* signal, uint32_t n, Event* const* waits);
  // external_semaphore.cpp
  ze_result_t appendSignalExternalSemaphoreExt(uint32_t count, ExternalSemaphore* const* semaphores,
                                               ze_external_semaphore_signal_params_ext_t* params, Event* signal, uint32_t n,
                                               Event* const* waits);
  ze_result_t appendWaitExternalSemaphoreExt(uint32_t count, ExternalSemaphore* const* semaphores,
                                             ze_external_semaphore_wait_params_ext_t* params, Event* signal, uint32_t n,
                                             Event* const* waits);
  // Graphs: command_list_graph.cpp
  ze_result_t beginGraphCaptureExt(const void* next);
  ze_result_t beginCaptureIntoGraphExt(Graph& graph, const void* next);
  ze_result_t isGraphCaptureEnabledExt();
  ze_result_t endGraphCaptureExt(const void* next, ze_graph_handle_t* handle);
  ze_result_t getGraphExt(ze_graph_handle_t* handle);
  ze_result_t appendGraphExt(ExecutableGraph& graph, const void* next, Event* signal, uint32_t n, Event* const* waits);
  // Kernels: command_list_launch.cpp
  ze_result_t appendLaunchKernel(Kernel& kernel, const ze_group_count_t* count, Event* signal, uint32_t n, Event* const* waits);
  ze_result_t appendLaunchCooperativeKernel(Kernel& kernel, const ze_group_count_t* count, Event* signal, uint32_t n,
                                            Event* const* waits);
  ze_result_t appendLaunchKernelWithParameters(Kernel& kernel, const ze_group_count_t* count, const void* next, Event* signal,
                                               uint32_t n, Event* const* waits);
  ze_result_t appendLaunchKernelWithArguments(Kernel& kernel, ze_group_count_t count, ze_group_size_t size, void** arguments,
                                              const void* next, Event* signal, uint32_t n, Event* const* waits);
  ze_result_t appendLaunchKernelIndirect(Kernel& kernel, const ze_group_count_t* count_at, Event* signal, uint32_t n,
                                         Event* const* waits);
  ze_result_t appendLaunchMultipleKernelsIndirect(uint32_t count, Kernel* const* kernels, const uint32_t* enabled_at,
                                                  const ze_group_count_t* counts_at, Event* signal, uint32_t n,
                                                  Event* const* waits);
  // Images: command_list_images.cpp
  ze_result_t appendImageCopy(Image& to, Image& from, Event* signal, uint32_t n, Event* const* waits);
  ze_result_t appendImageCopyRegion(Image& to, Image& from, const ze_image_region_t* to_region,
                                    const ze_image_region_t* from_region, Event* signal, uint32_t n, Event* const* waits);
  ze_result_t appendImageCopyToMemory(void* to, Image& from, const ze_image_region_t* from_region, Event* signal, uint32_t n,
                                      Event* const* waits);
  ze_result_t appendImageCopyFromMemory(Image& to, const void* from, const ze_image_region_t* to_region, Event* signal, uint32_t n,
                                        Event* const* waits);
  ze_result_t appendImageCopyToMemoryExt(void* to, Image& from, const ze_image_region_t* from_region, uint32_t row_pitch,
                                         uint32_t slice_pitch, Event* signal, uint32_t n, Event* const* waits);
  ze_result_t appendImageCopyFromMemoryExt(Image& to, const void* from, const ze_image_region_t* to_region, uint32_t row_pitch,
                                           uint32_t slice_pitch, Event* signal, uint32_t n, Event* const* waits);

  // One strided copy per plane, with the state of the images at the append; the packet holds the images.
  ze_result_t append_boxes(const BoxCopy* boxes, uint32_t count, Image* a, Image* b, Event* signal, uint32_t n,
                           Event* const* waits);

  // Appends an execution of a graph, which the list holds. Acquires nothing on failure.
  ze_result_t append_inference(Inference& inference, Event* signal, uint32_t n, Event* const* waits);

  bool immediate() const { return ring_ != nullptr; }
  // Whether the specification lets each command begin only when the one before is done; here they run so in all lists but relaxed
  // ones.
  bool in_order() const {
    return immediate() ? choice_.flags & ZE_COMMAND_QUEUE_FLAG_IN_ORDER : flags_ & ZE_COMMAND_LIST_FLAG_IN_ORDER;
  }
  // Whether an append waits for its command.
  bool synchronous() const { return immediate() && choice_.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS; }
  bool closed() const { return closed_; }
  // For check mode: the memory that the recorded commands name is not freed, as the allocations are at that version
  // (`allocation_changes`).
  void note_allowed(uint64_t version) { allowed_.store(version, std::memory_order_relaxed); }
  bool is_allowed(uint64_t version) const { return allowed_.load(std::memory_order_relaxed) == version; }
  bool copy_only() const { return device_.groups()[ordinal_].copy_only(); }
  uint32_t ordinal() const { return ordinal_; }
  Context& context() const { return *context_; }
  Device& device() const { return device_; }
  Program& program() const { return *program_; }
  // The ring of an immediate list.
  Ring* ring() const { return ring_; }
  // The recorded program, with a reference, if it can be executed on such a queue.
  ze_result_t take_program(const Device& device, bool copy_only, Program** program);

  CommandList(Context& context, Device& device, uint32_t ordinal, ze_command_list_flags_t flags, bool is_mutable);
  CommandList(Context& context, Device& device, const QueueChoice& choice);
  ~CommandList();

 private:
  friend class Capture;
  // Writes one packet of type P with `extra` bytes behind it: `fill` sets the body, then waits and signal are added. `cost` is a
  // rough number of nanoseconds, which decides whether an immediate command is worth a hand-over to the engine.
  template <class P, class Fill>
  [[gnu::always_inline]] ze_result_t append(uint64_t cost, size_t extra, Event* signal, uint32_t n, Event* const* waits,
                                            Fill&& fill);
  Program* new_program() const { return new Program(flags_ & ZE_COMMAND_LIST_FLAG_IN_ORDER); }
  ze_result_t submit(uint64_t before, uint64_t position, bool cheap);
  ze_result_t refuse_closed() const;
  ze_result_t ignore_closed() const;
  ze_result_t check_semaphores(uint32_t count, ExternalSemaphore* const* semaphores, uint32_t n, Event* const* waits) const;
  Solitude* solitude() { return ring_ ? nullptr : &solitude_; }
  // Only an asynchronous immediate list can capture.
  ze_result_t refuse_unless_capturable() const;
  // While there are captures: true if the command was recorded into a graph, or must not be appended; `result` says which.
  bool append_captured(const Capturable& command, ze_result_t* result);
  void note_use(const void* pointer);
  ze_result_t note_use(const Kernel& kernel);
  // `count` is null if the device reads it at execution.
  ze_result_t check_launch(const Kernel& kernel, const ze_group_count_t* count, uint32_t flags);
  ze_result_t launch(const Kernel& kernel, const ze_group_count_t& count, uint32_t flags, Event* signal, uint32_t n,
                     Event* const* waits);
  ze_result_t launch_indirect(uint32_t count, Kernel* const* kernels, const uint32_t* enabled_at, const ze_group_count_t* counts_at,
                              Event* signal, uint32_t n, Event* const* waits);
  ze_result_t check_local_memory(const KernelFacts& facts, uint64_t bytes, bool large) const;
  size_t launch_room(const Kernel& kernel) const;
  ze_result_t find_mutable(uint64_t id, uint32_t change, Packet** packet);
  ze_result_t find_mutable_launch(uint64_t id, uint32_t change, Launch** launch);
  ze_result_t change_launch(const ze_base_desc_t& desc);
  ze_result_t change_argument(Launch& launch, const ze_mutable_kernel_argument_exp_desc_t& desc);
  ze_result_t change_group_count(Launch& launch, const ze_group_count_t* count);
  ze_result_t change_graph_argument(const ze_mutable_graph_argument_exp_desc_t& change);

  Ref<Context> context_;
  Device& device_;
  uint32_t ordinal_;
  ze_command_list_flags_t flags_ = 0;
  bool closed_ = false;
  std::atomic<uint64_t> allowed_{0};
  bool mutable_ = false;
  Program* program_ = nullptr;                     // regular lists
  Solitude solitude_;                              // for regular lists
  std::vector<std::vector<Ref<Kernel>>> choices_;  // by identifier: the kernels that a mutable command may switch to
  QueueChoice choice_{};                           // immediate lists
  Ring* ring_ = nullptr;
  std::atomic<Capture*> capture_{nullptr};  // changes under Capture::mutex()
};

}  // namespace anyzero
