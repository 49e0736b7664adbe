#include "batch.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "shape.hpp"

namespace gpt {

std::vector<Row> order_rows(const int32_t* slots, const int32_t* positions, int count,
                            int slot_limit, int position_limit) {
  std::vector<Row> rows;
  rows.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    require_range("slot", slots[i], 0, slot_limit - 1);
    require_range("position", positions[i], 0, position_limit - 1);
    rows.push_back({slots[i], positions[i], i});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.slot, a.position) < std::tie(b.slot, b.position);
  });
  const auto twice = std::adjacent_find(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.slot == b.slot && a.position == b.position;
  });
  // Two threads would write the same keys.
  require(twice == rows.end(), twice == rows.end()
                                   ? std::string()
                                   : "position " + std::to_string(twice->position) + " of slot " +
                                         std::to_string(twice->slot) + " comes twice");
  return rows;
}

void find_runs(const Row* rows, int count, std::vector<Run>& runs) {
  runs.clear();
  for (int i = 0; i < count; ++i) {
    if (!runs.empty() && rows[runs.back().first].slot == rows[i].slot) {
      ++runs.back().rows;
    } else {
      runs.push_back({i, 1});
    }
  }
}

}  // namespace gpt
