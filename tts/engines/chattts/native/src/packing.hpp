// Float weights, as PyTorch keeps them, into the panels that kernels read.
#pragma once

#include "arena.hpp"
#include "kernels.hpp"

namespace gpt {

// `fused_gate` matrices have gate columns, then as many up columns.
enum class Columns { plain, fused_gate };

// Takes the memory of a matrix (outputs, inputs) from the arena.
Matrix allocate_matrix(Arena& arena, const PanelLayout& layout, int outputs, int inputs,
                       Columns columns);

// Fills it from row-major (outputs, inputs) values. False if one is not finite.
bool pack(const PanelLayout& layout, const float* values, int outputs, int inputs, Columns columns,
          Matrix& matrix);

}  // namespace gpt
