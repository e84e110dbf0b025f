// Graphs in recordings: the steps that create one, and the layers of an inference.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "../trace/recording.h"
#include "execution.h"

namespace anyzero {

// A step in creating a graph, from construction to the end of the scope. Reads one flag if nothing is recorded.
class GraphStep {
 public:
  // `step` is a literal; `model` must outlive this object.
  explicit GraphStep(const char* step, std::string_view model = {}, uint64_t bytes = 0)
      : step_(step), model_(model), bytes_(bytes), start_(is_recording() ? ticks() : 0) {}
  ~GraphStep() {
    if (start_) [[unlikely]]
      record();
  }
  GraphStep(const GraphStep&) = delete;
  GraphStep& operator=(const GraphStep&) = delete;

  // For a step that finds the model itself.
  void found(std::string_view model, uint64_t bytes) {
    model_ = model;
    bytes_ = bytes;
  }

 private:
  void record() const noexcept;

  const char* step_;
  std::string_view model_;
  uint64_t bytes_;
  uint64_t start_;
};

// Layers of the inference that ran from `start` to `end` on this thread.
void record_layers(const std::vector<LayerTime>& layers, uint64_t start, uint64_t end);

}  // namespace anyzero
