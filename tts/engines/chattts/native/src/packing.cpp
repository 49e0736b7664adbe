#include "packing.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "vector_math.hpp"

namespace gpt {

namespace {

// Which row of the source a padded column is; -1 for padding.
int source_row(const PanelLayout& layout, int outputs, Columns columns, int column) {
  if (columns == Columns::plain) return column < outputs ? column : -1;
  const int within = column % layout.columns();
  const int unit = column / layout.columns() * layout.lanes + within % layout.lanes;
  const int units = outputs / 2;
  if (unit >= units) return -1;
  return within < layout.lanes ? unit : units + unit;
}

class Column {
 public:
  Column(const PanelLayout& layout, const Matrix& matrix, int column)
      : layout_(layout),
        panel_(static_cast<unsigned char*>(matrix.data) +
               static_cast<size_t>(column / layout.columns()) * matrix.panel_bytes),
        within_(static_cast<size_t>(column % layout.columns())),
        scale_(matrix.scales == nullptr ? nullptr : matrix.scales + column) {}

  void write(const float* values, int inputs) {
    float most = kLeastMagnitude;
    if (layout_.precision == Precision::int8) {
      for (int k = 0; k < inputs; ++k) most = std::max(most, std::fabs(values[k]));
      *scale_ = most / kByteLimit;
    }
    for (int k = 0; k < inputs; ++k) write_one(k, values[k], most);
  }

  void pad(int from, int depth) {
    for (int k = from; k < depth; ++k) write_one(k, 0.0f, 1.0f);
  }

 private:
  void write_one(int input, float value, float most) {
    const size_t group = static_cast<size_t>(layout_.group);
    const size_t k = static_cast<size_t>(input);
    const size_t columns = static_cast<size_t>(layout_.columns());
    const size_t index = (k / group * columns + within_) * group + k % group;
    unsigned char* to = panel_ + index * layout_.element_bytes();
    switch (layout_.precision) {
      case Precision::fp32:
        std::memcpy(to, &value, sizeof value);
        break;
      case Precision::bf16: {
        const uint16_t half = to_bfloat16(value);
        std::memcpy(to, &half, sizeof half);
        break;
      }
      case Precision::int8:
        *to = static_cast<unsigned char>(std::lrintf(value * (kByteLimit / most)) +
                                         layout_.byte_bias);
        break;
    }
  }

  const PanelLayout& layout_;
  unsigned char* panel_;
  size_t within_;
  float* scale_;
};

bool all_finite(const float* values, int count) {
  for (int i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) return false;
  }
  return true;
}

}  // namespace

Matrix allocate_matrix(Arena& arena, const PanelLayout& layout, int outputs, int inputs,
                       Columns columns) {
  // A gate and its up column are in the same panel, so that half as many units fill one.
  const int units = columns == Columns::fused_gate
                        ? static_cast<int>(round_up(static_cast<size_t>(outputs / 2), kDepthStep))
                        : outputs;
  const int unit_step = columns == Columns::fused_gate ? layout.lanes : layout.columns();
  const int panels = (units + unit_step - 1) / unit_step;
  const int depth = static_cast<int>(round_up(static_cast<size_t>(inputs), kDepthStep));
  const size_t panel_bytes =
      static_cast<size_t>(depth) * static_cast<size_t>(layout.columns()) * layout.element_bytes();
  Matrix matrix{nullptr, nullptr, depth, panels, panel_bytes};
  matrix.data = arena.take<unsigned char>(static_cast<size_t>(panels) * panel_bytes);
  if (layout.precision == Precision::int8) {
    matrix.scales = arena.take<float>(static_cast<size_t>(panels * layout.columns()));
  }
  return matrix;
}

bool pack(const PanelLayout& layout, const float* values, int outputs, int inputs, Columns columns,
          Matrix& matrix) {
  for (int c = 0; c < matrix.panels * layout.columns(); ++c) {
    Column column(layout, matrix, c);
    const int row = source_row(layout, outputs, columns, c);
    if (row < 0) {
      column.pad(0, matrix.depth);
      continue;
    }
    const float* from = values + static_cast<size_t>(row) * static_cast<size_t>(inputs);
    if (!all_finite(from, inputs)) return false;
    column.write(from, inputs);
    column.pad(inputs, matrix.depth);
  }
  return true;
}

}  // namespace gpt
