#include "store/prompts.h"

#include <limits>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"

namespace draftlab {
namespace {

Prompt parse_prompt(const Json& value, const std::string& where) {
  Fields fields(value, where);
  Prompt prompt;
  prompt.id = fields.text("id");
  if (prompt.id.empty()) throw Error(fields.where("id"), "must not be empty");
  if (fields.has("prompt") == fields.has("token_ids")) {
    throw Error(where, R"(needs either "prompt" or "token_ids")");
  }
  if (fields.has("prompt")) {
    prompt.text = fields.text("prompt");
    if (prompt.text.empty()) throw Error(fields.where("prompt"), "must not be empty");
  } else {
    for (const int64_t id : fields.integers("token_ids")) {
      require_between(id, 0, std::numeric_limits<int32_t>::max(), fields.where("token_ids"));
      prompt.token_ids.push_back(static_cast<int32_t>(id));
    }
    if (prompt.token_ids.empty()) throw Error(fields.where("token_ids"), "must not be empty");
  }
  if (fields.has("group")) {
    prompt.group = fields.text("group");
    if (prompt.group.empty()) throw Error(fields.where("group"), "must not be empty");
  }
  fields.finish();
  return prompt;
}

}  // namespace

std::vector<Prompt> read_prompts(const PromptSource& source) {
  const std::string text = read_file(source.file);
  std::vector<Prompt> prompts;
  std::set<std::string> ids;
  int64_t line_number = 0;
  for (size_t begin = 0; begin < text.size();) {
    if (source.count > 0 && static_cast<int64_t>(prompts.size()) == source.count) break;
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = source.file.string() + ", line " + std::to_string(line_number);
    prompts.push_back(parse_prompt(parse_json(line, where), where));
    if (!ids.insert(prompts.back().id).second) {
      throw Error(where, "the id '" + prompts.back().id + "' was given before; ids must be unique");
    }
    if (prompts.back().group.empty() != prompts.front().group.empty()) {
      throw Error(where, std::string(prompts.back().group.empty() ? "has no" : "has a") +
                             " \"group\", unlike the prompts before; give it to all or to none");
    }
  }
  if (prompts.empty()) {
    throw Error(source.file.string(),
                std::string("holds no prompt: ") +
                    (text.empty() ? "it is empty" : "all of its lines are blank") +
                    std::string("; name a file with one prompt a line"));
  }
  if (static_cast<int64_t>(prompts.size()) < source.count) {
    throw Error(source.file.string(), "holds " + std::to_string(prompts.size()) +
                                          " prompts, wanted are " + std::to_string(source.count) +
                                          "; lower prompts.count");
  }
  return prompts;
}

std::vector<Prompt> made_up_prompts(const PromptSource& source, int64_t vocab_size) {
  std::vector<Prompt> prompts(source.count);
  for (int64_t i = 0; i < source.count; ++i) {
    Random random(source.seed, "prompt", i);
    prompts[i].id = "made-up-" + std::to_string(i);
    const int64_t shortest = (source.tokens + 1) / 2;
    prompts[i].token_ids.resize(shortest + random.below(source.tokens - shortest + 1));
    for (int32_t& id : prompts[i].token_ids) id = static_cast<int32_t>(random.below(vocab_size));
  }
  return prompts;
}

}  // namespace draftlab
