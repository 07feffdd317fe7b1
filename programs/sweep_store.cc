#include "programs/sweep_store.h"

#include <algorithm>

#include "base/error.h"
#include "record/split.h"
#include "store/file_hash.h"
#include "store/manifest.h"
#include "store/prompts.h"
#include "store/specification.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

constexpr double kBytesPerToken = 4 + 1 + 4;  // id, loss mask, the target's next token
constexpr double kCharactersPerToken = 3.5;   // of English prompts, about

// Of the prompts of a store that is not built yet.
std::vector<std::string> groups_of(const PromptSource& source) {
  std::vector<std::string> groups(source.count);
  if (source.file.empty()) return groups;
  std::ranges::transform(read_prompts(source), groups.begin(), &Prompt::group);
  return groups;
}

// Where prompts bring their groups, whether these can be split as the sweep asks; a split by
// similarity is the worker's to judge (require_worker_split).
void require_groups(const Sweep& sweep, const std::vector<std::string>& groups,
                    const fs::path& where) {
  if (sweep.split.by == "group") split_groups(sweep.split, groups, where.string());
}

void take_manifest(const StoreManifest& manifest, SweepStore& store) {
  store.built = true;
  store.target = manifest.target_file;
  store.tokens = manifest.tokens();
  store.planned.hash = manifest.hash();
  store.planned.facts = manifest.facts();
}

void take_specification(const StoreSpecification& specification, SweepStore& store) {
  StoreFacts& facts = store.planned.facts;
  store.target = specification.target.path;
  facts.mask_token_id = specification.mask_token_id;
  facts.taps = specification.taps;
  facts.records = specification.prompts.count;
  facts.final_hidden = specification.final_hidden;
  double prompt_tokens = 0;
  if (specification.target.format == "made_up") {
    facts.hidden_size = specification.target.made_up.hidden_size;
    facts.vocab_size = specification.target.made_up.vocab_size;
  }
  if (specification.prompts.file.empty()) {
    prompt_tokens =
        0.75 * static_cast<double>(specification.prompts.tokens * specification.prompts.count);
  } else {
    for (const Prompt& prompt : read_prompts(specification.prompts)) {
      prompt_tokens += prompt.token_ids.empty()
                           ? static_cast<double>(prompt.text.size()) / kCharactersPerToken
                           : static_cast<double>(prompt.token_ids.size());
    }
  }
  store.tokens = static_cast<int64_t>(prompt_tokens) +
                 specification.prompts.count * specification.responses.max_tokens;
}

// The target's hash as the manifest has it: the file may be large, and is compared by content where
// a worker loads it, before it trains.
std::string target_hash_in(const Json& specification) {
  const auto* object =
      specification.is_object() ? specification.get_object().if_contains("target") : nullptr;
  const auto* hash =
      object && object->is_object() ? object->get_object().if_contains("sha256") : nullptr;
  return hash && hash->is_string() ? std::string(hash->get_string()) : "";
}

void check_same(const StoreManifest& manifest, const StoreSpecification& specification,
                const fs::path& folder, const fs::path& file) {
  const fs::path& prompts = specification.prompts.file;
  const auto found =
      differences(manifest.specification,
                  identity_json(specification, target_hash_in(manifest.specification),
                                prompts.empty() ? std::string() : sha256_once(prompts)));
  if (found.empty()) return;
  std::string text = "holds the store of another specification than " + file.string() + ":";
  for (const std::string& line : found) text += "\n  " + line;
  throw Error(folder.string(), text + "\nname another folder, or remove this one");
}

}  // namespace

double SweepStore::tokens_per_sequence() const {
  return planned.facts.records.value_or(0) > 0
             ? static_cast<double>(tokens) / *planned.facts.records
             : 0;
}

double SweepStore::bytes(int64_t hidden_size) const {
  return static_cast<double>(tokens) *
             (kBytesPerToken + 2.0 * static_cast<double>(planned.facts.taps.size()) *
                                   static_cast<double>(hidden_size)) +
         final_hidden_bytes(hidden_size);
}

double SweepStore::final_hidden_bytes(int64_t hidden_size) const {
  return planned.facts.final_hidden ? 2.0 * static_cast<double>(tokens * hidden_size) : 0;
}

SweepStore find_store(const Sweep& sweep, const fs::path& usual,
                      const std::optional<std::string>& chosen) {
  SweepStore store;
  const bool only_built = sweep.store_specification.empty();
  const fs::path folder = chosen ? fs::path(*chosen) : only_built ? sweep.store_folder : usual;
  store.planned.folder = fs::absolute(folder).lexically_normal();
  if (only_built) {
    store.planned.specification = sweep.content.at("store");
    const StoreManifest manifest = read_manifest(folder);
    require_groups(sweep, manifest.groups(), folder);
    take_manifest(manifest, store);
    return store;
  }
  store.planned.specification = read_json(sweep.store_specification);
  const StoreSpecification specification = read_store_specification(sweep.store_specification);
  if (fs::exists(manifest_file(folder))) {
    const StoreManifest manifest = read_manifest(folder);
    check_same(manifest, specification, folder, sweep.store_specification);
    require_groups(sweep, manifest.groups(), folder);
    take_manifest(manifest, store);
  } else {
    require_groups(sweep, groups_of(specification.prompts),
                   specification.prompts.file.empty() ? sweep.store_specification
                                                      : specification.prompts.file);
    take_specification(specification, store);
  }
  return store;
}

PlannedStore built_store(const fs::path& folder, Json specification) {
  SweepStore store;
  store.planned.folder = folder;
  store.planned.specification = std::move(specification);
  take_manifest(read_manifest(folder), store);
  return store.planned;
}

}  // namespace draftlab
