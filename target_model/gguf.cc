#include "target_model/gguf.h"

#include <c10/util/Half.h>

#include <cstring>
#include <limits>

#include "base/error.h"

namespace draftlab {
namespace {

// How many bytes a run of values takes. Types that we only know by name have size 0.
struct TypeSize {
  const char* name;
  int64_t values, bytes;
};

TypeSize type_size(uint32_t type) {
  static const std::map<uint32_t, TypeSize> known = {
      {0, {"F32", 1, 4}},      {1, {"F16", 1, 2}},     {30, {"BF16", 1, 2}},
      {8, {"Q8_0", 32, 34}},   {3, {"Q4_1", 32, 20}},  {2, {"Q4_0", 0, 0}},
      {6, {"Q5_0", 0, 0}},     {7, {"Q5_1", 0, 0}},    {9, {"Q8_1", 0, 0}},
      {10, {"Q2_K", 0, 0}},    {11, {"Q3_K", 0, 0}},   {12, {"Q4_K", 0, 0}},
      {13, {"Q5_K", 0, 0}},    {14, {"Q6_K", 0, 0}},   {15, {"Q8_K", 0, 0}},
      {16, {"IQ2_XXS", 0, 0}}, {17, {"IQ2_XS", 0, 0}}, {18, {"IQ3_XXS", 0, 0}},
      {19, {"IQ1_S", 0, 0}},   {20, {"IQ4_NL", 0, 0}}, {21, {"IQ3_S", 0, 0}},
      {22, {"IQ2_S", 0, 0}},   {23, {"IQ4_XS", 0, 0}}, {24, {"I8", 0, 0}},
      {25, {"I16", 0, 0}},     {26, {"I32", 0, 0}},    {27, {"I64", 0, 0}},
      {28, {"F64", 0, 0}},     {29, {"IQ1_M", 0, 0}},  {34, {"TQ1_0", 0, 0}},
      {35, {"TQ2_0", 0, 0}},   {39, {"MXFP4", 0, 0}}};
  const auto found = known.find(type);
  return found == known.end() ? TypeSize{"", 0, 0} : found->second;
}

template <typename T>
T load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

float half(const char* bytes) {
  return c10::detail::fp16_ieee_to_fp32_value(load<uint16_t>(bytes));
}

}  // namespace

int64_t GgufTensor::count() const {
  int64_t count = 1;
  for (const int64_t side : shape) count *= side;
  return count;
}

// Reads little-endian values one after another and never past the end.
class GgufFile::Cursor {
 public:
  Cursor(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}
  const std::string& where() const { return where_; }
  size_t position() const { return position_; }

  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - position_)
      throw Error(where_, "is cut off inside its header; fetch it again");
    position_ += size;
    return bytes_.substr(position_ - size, size);
  }
  template <typename T>
  T read() {
    return load<T>(take(sizeof(T)).data());
  }
  std::string read_text() { return std::string(take(read<uint64_t>())); }
  // A count of things that take at least `least` bytes each: a wrong one must not ask for all
  // memory.
  uint64_t read_count(uint64_t least) {
    const auto count = read<uint64_t>();
    if (count > (bytes_.size() - position_) / least)
      throw Error(where_, "is cut off inside its header; fetch it again");
    return count;
  }

 private:
  std::string_view bytes_;
  std::string where_;
  size_t position_ = 0;
};

GgufFile::Value GgufFile::read_value(Cursor& cursor, uint32_t type) {
  enum : uint32_t { kText = 8, kArray = 9 };
  switch (type) {
    case 0:
      return int64_t{cursor.read<uint8_t>()};
    case 1:
      return int64_t{cursor.read<int8_t>()};
    case 2:
      return int64_t{cursor.read<uint16_t>()};
    case 3:
      return int64_t{cursor.read<int16_t>()};
    case 4:
      return int64_t{cursor.read<uint32_t>()};
    case 5:
      return int64_t{cursor.read<int32_t>()};
    case 6:
      return double{cursor.read<float>()};
    case 7:
      return cursor.read<uint8_t>() != 0;
    case kText:
      return cursor.read_text();
    case 10:
    case 11:
      return cursor.read<int64_t>();
    case 12:
      return cursor.read<double>();
    case kArray:
      break;
    default:
      throw Error(cursor.where(), "has metadata of the unknown type " + std::to_string(type));
  }
  const auto element = cursor.read<uint32_t>();
  if (element == kArray)
    throw Error(cursor.where(), "has nested lists in its metadata, which are not supported");
  const uint64_t count = cursor.read_count(element == kText ? 8 : 1);
  std::vector<std::string> texts;
  std::vector<double> numbers;
  std::vector<int64_t> integers;
  for (uint64_t i = 0; i < count; ++i) {
    const Value value = read_value(cursor, element);
    if (const auto* text = std::get_if<std::string>(&value)) texts.push_back(*text);
    if (const auto* number = std::get_if<double>(&value)) numbers.push_back(*number);
    if (const auto* integer = std::get_if<int64_t>(&value)) integers.push_back(*integer);
    if (const auto* flag = std::get_if<bool>(&value)) integers.push_back(*flag);
  }
  if (element == kText) return texts;
  if (element == 6 || element == 12) return numbers;
  return integers;
}

GgufFile::GgufFile(const std::filesystem::path& file) : path_(file), map_(file) {
  Cursor cursor(map_.bytes(), file.string());
  if (map_.bytes().substr(0, 4) != "GGUF") throw Error(file.string(), "is no GGUF file");
  cursor.take(4);
  const auto version = cursor.read<uint32_t>();
  if (version != 3)
    throw Error(file.string(), "is GGUF version " + std::to_string(version) + "; only 3 is read");
  const uint64_t tensors = cursor.read_count(1), entries = cursor.read_count(1);
  for (uint64_t i = 0; i < entries; ++i) {
    const std::string key = cursor.read_text();
    const auto type = cursor.read<uint32_t>();
    if (!metadata_.emplace(key, read_value(cursor, type)).second)
      throw Error(file.string(), key + " is given twice");
  }

  struct Place {
    uint32_t type;
    uint64_t offset;
  };
  std::map<std::string, Place> places;
  for (uint64_t i = 0; i < tensors; ++i) {
    const std::string name = cursor.read_text();
    const std::string where = file.string() + ": " + name;
    GgufTensor tensor;
    const auto dimensions = cursor.read<uint32_t>();
    if (dimensions > 4) throw Error(where, "has " + std::to_string(dimensions) + " dimensions");
    uint64_t count = 1;
    for (uint32_t d = 0; d < dimensions; ++d) {
      const auto side = cursor.read<uint64_t>();
      if (side == 0 || __builtin_mul_overflow(count, side, &count) || count > (uint64_t{1} << 40)) {
        throw Error(where, "has an impossible shape");
      }
      tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(side));
    }
    const auto type = cursor.read<uint32_t>();
    const TypeSize size = type_size(type);
    tensor.type = *size.name ? size.name : "type " + std::to_string(type);
    places[name] = {type, cursor.read<uint64_t>()};
    if (!tensors_.emplace(name, std::move(tensor)).second) throw Error(where, "is there twice");
  }

  const auto alignment = static_cast<uint64_t>(integer("general.alignment", 32));
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    throw Error(file.string(), "general.alignment must be a power of two");
  }
  const uint64_t begin = (cursor.position() + alignment - 1) & ~(alignment - 1);
  for (auto& [name, tensor] : tensors_) {
    const auto [type, offset] = places.at(name);
    const TypeSize size = type_size(type);
    if (size.values == 0) continue;  // refused by name when somebody asks for its values
    const std::string where = file.string() + ": " + name;
    const int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (row % size.values != 0)
      throw Error(where, "has rows that are no whole number of " + tensor.type + " blocks");
    const uint64_t bytes = static_cast<uint64_t>(tensor.count() / size.values) * size.bytes;
    const uint64_t available = map_.bytes().size() > begin ? map_.bytes().size() - begin : 0;
    if (offset > available || bytes > available - offset) {
      throw Error(where, "lies past the end of the file, which is truncated; fetch it again");
    }
    tensor.bytes = map_.bytes().substr(begin + offset, bytes);
  }
}

template <typename T>
const T& GgufFile::get(const std::string& key, const char* wanted) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) throw Error(path_.string(), "has no metadata '" + key + "'");
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) throw Error(path_.string() + ": " + key, std::string("is not ") + wanted);
  return *value;
}

std::string GgufFile::text(const std::string& key) const { return get<std::string>(key, "a text"); }
int64_t GgufFile::integer(const std::string& key) const {
  return get<int64_t>(key, "a whole number");
}
int64_t GgufFile::integer(const std::string& key, int64_t fallback) const {
  return has(key) ? integer(key) : fallback;
}
double GgufFile::number(const std::string& key) const { return get<double>(key, "a number"); }
double GgufFile::number(const std::string& key, double fallback) const {
  return has(key) ? number(key) : fallback;
}
const std::vector<std::string>& GgufFile::texts(const std::string& key) const {
  return get<std::vector<std::string>>(key, "a list of texts");
}
const std::vector<int64_t>& GgufFile::integers(const std::string& key) const {
  return get<std::vector<int64_t>>(key, "a list of whole numbers");
}

const GgufTensor& GgufFile::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw Error(path_.string(), "has no tensor '" + name + "'");
  return found->second;
}

void dequantise(const GgufTensor& tensor, const std::string& where, float* out) {
  const int64_t count = tensor.count();
  const char* in = tensor.bytes.data();
  if (tensor.type == "F32") {
    std::memcpy(out, in, count * sizeof(float));
  } else if (tensor.type == "F16") {
    for (int64_t i = 0; i < count; ++i) out[i] = half(in + 2 * i);
  } else if (tensor.type == "BF16") {
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t bits = uint32_t{load<uint16_t>(in + 2 * i)} << 16;
      std::memcpy(out + i, &bits, sizeof bits);
    }
  } else if (tensor.type == "Q8_0") {  // f16 d, then 32 int8
    for (int64_t i = 0; i < count; i += 32, in += 34) {
      const float d = half(in);
      for (int64_t j = 0; j < 32; ++j)
        out[i + j] = d * static_cast<float>(static_cast<int8_t>(in[2 + j]));
    }
  } else if (tensor.type ==
             "Q4_1") {  // f16 d, f16 m, 16 bytes: the low nibbles are the first 16 values
    for (int64_t i = 0; i < count; i += 32, in += 20) {
      const float d = half(in), m = half(in + 2);
      for (int64_t j = 0; j < 16; ++j) {
        const auto byte = static_cast<uint8_t>(in[4 + j]);
        out[i + j] = d * static_cast<float>(byte & 15) + m;
        out[i + 16 + j] = d * static_cast<float>(byte >> 4) + m;
      }
    }
  } else {
    throw Error(where, "is stored as " + tensor.type +
                           ", which is not supported; convert the file to one of F32, "
                           "F16, BF16, Q8_0, Q4_1");
  }
}

}  // namespace draftlab
