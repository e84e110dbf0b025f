// Graph executions in command lists, and their later mutation.
#include "../objects/commands/command_list_append.h"
#include "inference.h"

namespace anyzero {

ze_result_t CommandList::append_inference(Inference& inference, Event* signal, uint32_t n, Event* const* waits) {
  return append<InferPacket>(kNeverInline, 0, signal, n, waits, [&](InferPacket& packet) { packet.inference = &inference; });
}

ze_result_t CommandList::change_graph_argument(const ze_mutable_graph_argument_exp_desc_t& change) {
  constexpr uint32_t kEither =
      uint32_t{ZE_MUTABLE_COMMAND_EXP_FLAG_GRAPH_ARGUMENTS} | uint32_t{ZE_MUTABLE_COMMAND_EXP_FLAG_GRAPH_ARGUMENT_DEPRECATED};
  Packet* packet = nullptr;
  if (ze_result_t r = find_mutable(change.commandId, kEither, &packet)) return r;
  if (packet->op != Op::Infer)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "command %zu executes no graph", static_cast<size_t>(change.commandId));
  ArgumentValue value;
  value.pointer = const_cast<void*>(change.pArgValue);
  value.read_strides(change.pNext);
  return static_cast<Inference*>(static_cast<InferPacket*>(packet)->inference)->set(change.argIndex, value);
}

}  // namespace anyzero
