#include "record/split.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "base/random.h"

namespace draftlab {
namespace {

void check_size(const SplitConfig& config, int64_t size, const std::string& where) {
  const int64_t wanted = config.train + config.tuning + config.held_out;
  if (wanted <= size) return;
  throw Error(where, "the split asks for " + std::to_string(wanted) + " sequences, the store has " +
                         std::to_string(size) + "; ask for fewer, or build a larger store");
}

using Group = std::vector<int64_t>;  // records

// The largest first, equal ones in a fixed random order.
std::vector<Group> groups_of(const std::vector<std::string>& group_of) {
  std::map<std::string, Group> by_name;
  for (size_t i = 0; i < group_of.size(); ++i)
    by_name[group_of[i]].push_back(static_cast<int64_t>(i));
  std::vector<Group> found;
  for (auto& [name, group] : by_name) found.push_back(std::move(group));
  // By their first records, so that the names of the groups say nothing.
  std::ranges::sort(found, {}, [](const Group& group) { return group.front(); });
  std::vector<Group> groups;
  for (const int64_t i :
       permutation(static_cast<int64_t>(found.size()), Random(0, "order of groups")))
    groups.push_back(std::move(found[i]));
  std::ranges::stable_sort(groups, std::greater(), &Group::size);
  return groups;
}

// A list that is being filled.
struct Part {
  std::vector<int64_t>& records;
  int64_t places;
  bool takes_large_groups;

  int64_t free() const { return places - static_cast<int64_t>(records.size()); }
  bool has_room(int64_t size) const { return size <= free(); }
  bool is_fit(int64_t size) const {
    return has_room(size) && (takes_large_groups || 4 * size <= places);
  }
};

// One of the parts that `may` take the group, drawn by their free places; nullptr: none may.
template <typename May>
Part* draw(std::array<Part, 3>& parts, Random& random, May may) {
  int64_t free = 0;
  for (const Part& part : parts) free += may(part) ? part.free() : 0;
  if (free == 0) return nullptr;
  auto ticket = static_cast<int64_t>(random.below(free));
  for (Part& part : parts) {
    if (!may(part)) continue;
    if (ticket < part.free()) return &part;
    ticket -= part.free();
  }
  return nullptr;
}

std::string counts(int64_t train, int64_t tuning, int64_t held_out) {
  return std::to_string(train) + " training, " + std::to_string(tuning) + " tuning and " +
         std::to_string(held_out) + " held-out";
}

}  // namespace

SplitRecords split_records(const SplitConfig& config, int64_t size, const std::string& where) {
  check_size(config, size, where);
  const std::vector<int64_t> order = permutation(size, Random(0, "split"));
  auto next = order.begin();
  const auto take = [&next](int64_t count) {
    const auto begin = next;
    next += count;
    return std::vector<int64_t>(begin, next);
  };
  SplitRecords split;
  split.train = take(config.train);
  split.tuning = take(config.tuning);
  split.held_out = take(config.held_out);
  return split;
}

SplitRecords split_groups(const SplitConfig& config, const std::vector<std::string>& group_of,
                          const std::string& where) {
  const auto size = static_cast<int64_t>(group_of.size());
  check_size(config, size, where);
  if (const auto without = std::ranges::count(group_of, ""); without > 0) {
    throw Error(where, std::to_string(without) + " of the " + std::to_string(size) +
                           " prompts have no group; give every line of the prompt file a "
                           "\"group\" and build the store anew, or split by \"similarity\"");
  }
  const std::vector<Group> groups = groups_of(group_of);
  const auto largest = static_cast<int64_t>(groups.front().size());
  if (largest > config.train) {
    throw Error(where, "the largest group, " + group_of[groups.front().front()] + ", has " +
                           std::to_string(largest) + " of the " + std::to_string(size) +
                           " sequences, more than split.train, " + std::to_string(config.train) +
                           "; train on more, or use prompts of more kinds");
  }
  SplitRecords split;
  std::array<Part, 3> parts = {{{split.train, config.train, true},
                                {split.tuning, config.tuning, false},
                                {split.held_out, config.held_out, false}}};
  Random random(0, "parts of groups");
  for (const Group& group : groups) {
    const auto members = static_cast<int64_t>(group.size());
    Part* part = draw(parts, random, [&](const Part& p) { return p.is_fit(members); });
    if (part == nullptr)
      part = draw(parts, random, [&](const Part& p) { return p.has_room(members); });
    if (part == nullptr) part = &*std::ranges::max_element(parts, {}, &Part::free);
    const int64_t taken = std::min(members, part->free());
    part->records.insert(part->records.end(), group.begin(), group.begin() + taken);
  }
  if (std::ranges::all_of(parts, [](const Part& part) { return part.free() == 0; })) return split;
  const auto filled = [&](size_t i) { return static_cast<int64_t>(parts[i].records.size()); };
  throw Error(where, "the split asks for " + counts(config.train, config.tuning, config.held_out) +
                         " sequences, and no two of them share a group; the " +
                         std::to_string(groups.size()) + " groups here, the largest of " +
                         std::to_string(largest) + " sequences, fill " +
                         counts(filled(0), filled(1), filled(2)) +
                         "; ask for fewer, or use prompts of more kinds");
}

}  // namespace draftlab
