// The rows of one call, put in order: by slot, then by position.
#pragma once

#include <cstdint>
#include <vector>

namespace gpt {

struct Row {
  int slot;
  int position;
  int index;  // in the call's arrays
};

// The rows of one slot, which see each other's keys.
struct Run {
  int first;
  int rows;
};

// Throws InvalidArgument when a slot or position is out of range or comes twice.
std::vector<Row> order_rows(const int32_t* slots, const int32_t* positions, int count,
                            int slot_limit, int position_limit);

void find_runs(const Row* rows, int count, std::vector<Run>& runs);

}  // namespace gpt
