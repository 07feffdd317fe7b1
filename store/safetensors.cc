#include "store/safetensors.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/json.h"

namespace draftlab {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kLargestHeader = 100'000'000;  // the limit of the format's own library
constexpr size_t kAlignment = 64;

SafetensorsSpan parse_span(const Json& value, const std::string& where, size_t data_begin) {
  Fields fields(value, where);
  SafetensorsSpan span;
  span.dtype = fields.text("dtype");
  const auto element = static_cast<size_t>(safetensors_element_size(span.dtype, where));
  span.shape = fields.integers("shape");
  const std::vector<int64_t> offsets = fields.integers("data_offsets");
  fields.finish();
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0]) {
    throw Error(where, "data_offsets must be two rising numbers");
  }
  size_t bytes = element;
  for (const int64_t side : span.shape) {
    if (side < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(side), &bytes)) {
      throw Error(where, "has an impossible shape");
    }
  }
  const auto size = static_cast<size_t>(offsets[1] - offsets[0]);
  if (size != bytes) {
    throw Error(where, "has " + std::to_string(size) + " bytes, but its shape and dtype need " +
                           std::to_string(bytes));
  }
  span.begin = data_begin + offsets[0];
  span.end = data_begin + offsets[1];
  return span;
}

// The data must be covered once, from the first byte on. Returns where they end.
size_t check_coverage(const std::map<std::string, SafetensorsSpan>& tensors, size_t begin,
                      const std::string& where) {
  std::vector<const std::pair<const std::string, SafetensorsSpan>*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  for (const auto* tensor : order) {
    if (tensor->second.begin != begin) {
      throw Error(where + ": " + tensor->first, tensor->second.begin < begin
                                                    ? "overlaps another tensor"
                                                    : "leaves a gap behind the tensor before it");
    }
    begin = tensor->second.end;
  }
  return begin;
}

}  // namespace

int64_t safetensors_element_size(const std::string& dtype, const std::string& where) {
  static const std::map<std::string, int64_t> sizes = {
      {"F64", 8}, {"I64", 8},     {"U64", 8},     {"F32", 4},  {"I32", 4},
      {"U32", 4}, {"F16", 2},     {"BF16", 2},    {"I16", 2},  {"U16", 2},
      {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"BOOL", 1}, {"U8", 1}};
  const auto found = sizes.find(dtype);
  if (found == sizes.end()) throw Error(where, "has the unknown dtype '" + dtype + "'");
  return found->second;
}

SafetensorsHeader read_safetensors_header(std::string_view bytes, const std::string& where) {
  uint64_t length = 0;
  if (bytes.size() < kLengthBytes) throw Error(where, "is too short for a safetensors file");
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kLargestHeader || length > bytes.size() - kLengthBytes) {
    throw Error(where, "is no safetensors file, or is cut off inside its header");
  }
  const Json json = parse_json(bytes.substr(kLengthBytes, length), where);
  if (!json.is_object()) throw Error(where, "is no safetensors file: its header is no JSON object");

  SafetensorsHeader header;
  const size_t data_begin = kLengthBytes + length;
  for (const auto& field : json.get_object()) {
    const std::string name(field.key());
    if (name != "__metadata__") {
      header.tensors.emplace(name, parse_span(field.value(), where + ": " + name, data_begin));
      continue;
    }
    Fields metadata(field.value(), where + ": __metadata__");
    for (const auto& entry : field.value().get_object()) {
      header.metadata.emplace(entry.key(), metadata.text(entry.key()));
    }
  }
  header.file_size = check_coverage(header.tensors, data_begin, where);
  return header;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file) : path_(file), map_(file) {
  SafetensorsHeader header = read_safetensors_header(map_.bytes(), file.string());
  for (auto& [name, span] : header.tensors) {
    if (span.end > map_.bytes().size()) {
      throw Error(file.string() + ": " + name,
                  "ends at byte " + std::to_string(span.end) + ", the file at byte " +
                      std::to_string(map_.bytes().size()) + "; it is truncated");
    }
    tensors_.emplace(name,
                     SafetensorsEntry{std::move(span.dtype), std::move(span.shape),
                                      map_.bytes().substr(span.begin, span.end - span.begin)});
  }
  if (map_.bytes().size() != header.file_size) {
    throw Error(file.string(), "has bytes behind its last tensor; it is damaged");
  }
  metadata_ = std::move(header.metadata);
}

const SafetensorsEntry& SafetensorsFile::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw Error(path_.string(), "has no tensor '" + name + "'");
  return found->second;
}

std::string safetensors_bytes(const std::map<std::string, SafetensorsEntry>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  std::vector<std::pair<int64_t, const std::pair<const std::string, SafetensorsEntry>*>> order;
  for (const auto& tensor : tensors) {
    order.emplace_back(-safetensors_element_size(tensor.second.dtype, tensor.first), &tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.first < b.first; });

  JsonObject header;
  if (!metadata.empty()) {
    JsonObject texts;
    for (const auto& [key, text] : metadata) texts.emplace(key, text);
    header.emplace("__metadata__", std::move(texts));
  }
  size_t size = 0;
  for (const auto& [element, tensor] : order) {
    const SafetensorsEntry& entry = tensor->second;
    header.emplace(tensor->first,
                   JsonObject{{"dtype", entry.dtype},
                              {"shape", JsonArray(entry.shape.begin(), entry.shape.end())},
                              {"data_offsets", JsonArray{size, size + entry.bytes.size()}}});
    size += entry.bytes.size();
  }
  std::string text = canonical(header);
  text.append((kAlignment - (kLengthBytes + text.size()) % kAlignment) % kAlignment, ' ');

  const uint64_t length = text.size();
  std::string bytes(kLengthBytes, '\0');
  bytes.reserve(kLengthBytes + text.size() + size);
  std::memcpy(bytes.data(), &length, kLengthBytes);
  bytes += text;
  for (const auto& [element, tensor] : order) bytes += tensor->second.bytes;
  return bytes;
}

}  // namespace draftlab
