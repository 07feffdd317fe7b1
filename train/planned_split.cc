#include "train/planned_split.h"

#include "train/near_copies.h"
#include "train/prompt_words.h"

namespace draftlab {
namespace {

// A group is called after its first prompt.
std::vector<std::string> groups_by_similarity(StoreReader& store) {
  std::vector<StoreRecord> records;
  for (int64_t i = 0; i < store.size(); ++i) records.push_back(store.record(i));
  std::vector<std::string> groups;
  for (const int64_t first : groups_of_near_copies(prompt_words(store.manifest(), records)))
    groups.push_back("the near copies of " + records[first].entry->prompt_id);
  return groups;
}

}  // namespace

SplitRecords planned_split(StoreReader& store, const SplitConfig& config) {
  const std::string where = store.folder().string();
  if (config.by == "group") return split_groups(config, store.manifest().groups(), where);
  if (config.by == "similarity") return split_groups(config, groups_by_similarity(store), where);
  return split_records(config, store.size(), where);
}

}  // namespace draftlab
