#include "store/describe.h"

#include <set>

#include "base/number_text.h"
#include "store/manifest.h"
#include "store/writer.h"

namespace draftlab {
namespace {

std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

std::string list(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

std::string line(const char* key, const std::string& text) {
  return std::string(key) + std::string(14 - std::string_view(key).size(), ' ') + text + "\n";
}

std::string groups_line(const StoreManifest& m) {
  const std::vector<std::string> groups = m.groups();
  const std::set<std::string> names(groups.begin(), groups.end());
  if (names.empty() || names.contains("")) return "";
  return line("groups", grouped(static_cast<int64_t>(names.size())) + " of prompts");
}

std::string describe(const StoreManifest& m) {
  const int64_t tokens = m.tokens(), responses = m.response_tokens();
  return line("name", std::string(m.specification.at("name").as_string())) +
         line("target", m.target_name + " (" + m.target_architecture + ", " +
                            std::to_string(m.target_layers) + " layers, hidden " +
                            std::to_string(m.hidden_size) + ", vocabulary " +
                            grouped(m.vocab_size) + ")") +
         line("target file",
              m.target_file.empty() ? "none: made up from its seed" : m.target_file) +
         line("taps", list(m.taps) + ": outputs of decoder layers counted from 0, " + m.tap_dtype) +
         (m.final_hidden.empty()
              ? ""
              : line("final hidden",
                     "kept behind the final norm, bf16: " + grouped(2 * m.hidden_size) +
                         " bytes a token, " + grouped(m.final_hidden_bytes()) + " in all")) +
         line("mask token", std::to_string(m.mask_token_id)) +
         (m.end_token_ids.empty() ? "" : line("ends of turn", list(m.end_token_ids))) +
         line("records", grouped(m.records()) + " in " +
                             grouped(static_cast<int64_t>(m.shards.size())) + " shards") +
         line("tokens", grouped(tokens) + ": " + grouped(tokens - responses) + " of prompts, " +
                            grouped(responses) + " of responses") +
         groups_line(m) + line("bytes", grouped(m.bytes())) + line("responses", m.responses) +
         line("looped",
              percent(m.looped_share) + " of the responses were cut where they began to repeat") +
         line("store hash", m.hash()) + line("target hash", m.target_sha256) +
         line("tokenizer", m.tokenizer_sha256);
}

}  // namespace

std::string describe_store(const std::filesystem::path& folder) {
  const std::filesystem::path building = building_file(folder);
  if (!std::filesystem::exists(manifest_file(folder)) && std::filesystem::exists(building)) {
    return describe(manifest_from_json(read_json(building), building.string())) +
           "unfinished: `draftlab store build` finishes it\n";
  }
  return describe(read_manifest(folder));
}

}  // namespace draftlab
