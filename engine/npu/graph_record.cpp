#include "graph_record.h"

namespace anyzero {

namespace {

TraceRecord* begin(TraceKind kind, std::string_view what, uint64_t start, uint64_t end) {
  TraceRecord* record = begin_record();
  if (!record) return nullptr;
  *record = {};
  record->kind = static_cast<uint32_t>(kind);
  record->what = static_cast<uint32_t>(place_of_text(what));
  record->start = start;
  record->end = end;
  return record;
}

}  // namespace

void GraphStep::record() const noexcept try {
  TraceRecord* record = begin(TraceKind::Graph, step_, start_, ticks());
  if (!record) return;
  if (!model_.empty()) record->values[static_cast<uint32_t>(TraceGraphValue::Model)] = 1 + place_of_text(model_);
  record->values[static_cast<uint32_t>(TraceGraphValue::Bytes)] = bytes_;
  complete_record();
} catch (...) {  // no memory for a name: the record is left out
}

void record_layers(const std::vector<LayerTime>& layers, uint64_t start, uint64_t end) {
  constexpr uint64_t kMicrosecond = 1000;
  uint64_t offset = 0;
  for (const LayerTime& layer : layers) {
    if (layer.status != LayerTime::Status::Executed) continue;
    TraceRecord* record = begin(TraceKind::Layer, layer.name, start, end);
    if (!record) return;
    const uint64_t duration = layer.real_us * kMicrosecond;
    record->values[static_cast<uint32_t>(TraceLayerValue::Type)] = place_of_text(layer.type);
    record->values[static_cast<uint32_t>(TraceLayerValue::Implementation)] = place_of_text(layer.exec_type);
    record->values[static_cast<uint32_t>(TraceLayerValue::Offset)] = offset;
    record->values[static_cast<uint32_t>(TraceLayerValue::Duration)] = duration;
    offset += duration;
    complete_record();
  }
}

}  // namespace anyzero
