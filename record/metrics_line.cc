#include "record/metrics_line.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace draftlab {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads parts of a line from its front. After the first part that is not there all that follow
// fail too.
class Parts {
 public:
  explicit Parts(std::string_view text) : text_(text) {}

  Parts& then(std::string_view literal) {
    good_ = good_ && text_.starts_with(literal);
    if (good_) text_.remove_prefix(literal.size());
    return *this;
  }

  Parts& number(double& value) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (!text_.starts_with('"')) return digits(value);
    for (const auto& [name, special] :
         {std::pair{"\"NaN\"", std::numeric_limits<double>::quiet_NaN()},
          {"\"Infinity\"", kInfinity},
          {"\"-Infinity\"", -kInfinity}}) {
      if (!text_.starts_with(name)) continue;
      value = special;
      return then(name);
    }
    good_ = false;
    return *this;
  }
  Parts& integer(int64_t& value) { return digits(value); }

  Parts& boolean(bool& value) {
    value = text_.starts_with("true");
    return then(value ? "true" : "false");
  }

  // Printable ASCII without escapes.
  Parts& text(std::string& value) {
    then("\"");
    const size_t end = text_.find_first_of("\"\\");
    good_ = good_ && end != std::string_view::npos && text_[end] == '"';
    if (!good_) return *this;
    for (const char c : text_.substr(0, end)) good_ = good_ && c >= ' ' && c <= '~';
    value = text_.substr(0, end);
    text_.remove_prefix(end);
    return then("\"");
  }

  Parts& numbers(std::vector<double>& values) {
    return list(values, [this](double& value) { number(value); });
  }
  Parts& integers(std::vector<int64_t>& values) {
    return list(values, [this](int64_t& value) { integer(value); });
  }

  bool continues(std::string_view literal) const { return text_.starts_with(literal); }
  bool ends() const { return good_ && text_.empty(); }

 private:
  // JSON's own form of a number, which from_chars takes more widely.
  template <typename Number>
  Parts& digits(Number& value) {
    const char *begin = text_.data(), *end = begin + text_.size();
    const char* first = begin + text_.starts_with('-');
    good_ = good_ && first < end && is_digit(*first) &&
            !(*first == '0' && first + 1 < end && is_digit(first[1]));
    if (!good_) return *this;
    const auto result = std::from_chars(begin, end, value);
    good_ = result.ec == std::errc() && is_digit(result.ptr[-1]);
    for (const char* c = begin; good_ && c < result.ptr; ++c) {
      if (*c == '.') good_ = is_digit(c[1]);
      // The parser refuses some exponents of zero.
      if (*c == 'e' || *c == 'E') good_ = value != 0;
    }
    if (good_) text_.remove_prefix(static_cast<size_t>(result.ptr - begin));
    return *this;
  }

  template <typename Value, typename Read>
  Parts& list(std::vector<Value>& values, const Read& read) {
    then("[");
    if (text_.starts_with(']')) return then("]");
    while (good_) {
      read(values.emplace_back());
      if (!text_.starts_with(',')) break;
      then(",");
    }
    return then("]");
  }

  std::string_view text_;
  bool good_ = true;
};

bool read(Parts parts, StepRow& row) {
  return parts.then("{\"clipped\":")
      .boolean(row.clipped)
      .then(",\"data_seconds\":")
      .number(row.data_seconds)
      .then(",\"gradient_norm\":")
      .number(row.gradient_norm)
      .then(",\"learning_rate\":")
      .number(row.learning_rate)
      .then(",\"loss\":")
      .number(row.loss)
      .then(",\"model_seconds\":")
      .number(row.model_seconds)
      .then(",\"optimizer_seconds\":")
      .number(row.optimizer_seconds)
      .then(",\"row\":\"step\",\"step\":")
      .integer(row.step)
      .then(",\"tokens\":")
      .integer(row.tokens)
      .then("}")
      .ends();
}

bool read(Parts parts, UpdateRow& row) {
  parts.then("{\"alignment\":")
      .number(row.alignment)
      .then(",\"deviation\":")
      .number(row.deviation)
      .then(",\"kind\":")
      .text(row.kind);
  if (parts.continues(",\"momentum_spectrum\":")) {
    parts.then(",\"momentum_spectrum\":")
        .numbers(row.momentum_spectrum)
        .then(",\"momentum_stable_rank\":")
        .number(row.momentum_stable_rank);
  }
  parts.then(",\"row\":\"update\",\"rule\":")
      .text(row.rule)
      .then(",\"step\":")
      .integer(row.step)
      .then(",\"update_rms\":")
      .number(row.update_rms)
      .then(",\"weight_rms\":")
      .number(row.weight_rms);
  if (parts.continues(",\"weight_spectrum\":")) {
    parts.then(",\"weight_spectrum\":")
        .numbers(row.weight_spectrum)
        .then(",\"weight_stable_rank\":")
        .number(row.weight_stable_rank);
  }
  return parts.then("}").ends();
}

bool read(Parts parts, EvaluationRow& row) {
  parts.then("{\"acceptance_length\":")
      .number(row.acceptance_length)
      .then(",\"acceptance_length_argmax\":")
      .number(row.acceptance_length_argmax)
      .then(",\"acceptance_length_per_prompt\":")
      .number(row.acceptance_length_per_prompt)
      .then(",\"blocks\":")
      .integer(row.blocks)
      .then(",\"data_hash\":")
      .text(row.data_hash);
  if (parts.continues(",\"expected_acceptance\":")) {
    parts.then(",\"expected_acceptance\":")
        .numbers(row.expected_acceptance)
        .then(",\"expected_acceptance_length\":")
        .number(row.expected_acceptance_length);
  }
  parts.then(",\"loss\":")
      .number(row.loss)
      .then(",\"prefix_share\":")
      .numbers(row.prefix_share)
      .then(",\"prompt_blocks\":")
      .integers(row.prompt_blocks)
      .then(",\"prompt_matches\":")
      .integers(row.prompt_matches)
      .then(",\"prompts\":")
      .integer(row.prompts)
      .then(",\"row\":\"evaluation\",\"slot_accuracy\":")
      .numbers(row.slot_accuracy)
      .then(",\"split\":")
      .text(row.split)
      .then(",\"step\":")
      .integer(row.step)
      .then(",\"tokens\":")
      .integer(row.tokens);
  if (parts.continues(",\"top_2_recall\":")) {
    parts.then(",\"top_2_recall\":")
        .numbers(row.top_2_recall)
        .then(",\"top_4_recall\":")
        .numbers(row.top_4_recall)
        .then(",\"top_8_length\":")
        .number(row.top_8_length)
        .then(",\"top_8_recall\":")
        .numbers(row.top_8_recall);
  }
  parts.then(",\"train_seconds\":").number(row.train_seconds);
  if (parts.continues(",\"tree_lengths\":")) {
    parts.then(",\"tree_lengths\":").numbers(row.tree_lengths);
    if (row.tree_lengths.size() != tree_budgets().size()) return false;
  }
  return parts.then("}").ends();
}

template <typename Row>
bool add(std::string_view line, std::vector<Row>& rows) {
  Row row;
  if (!read(Parts(line), row)) return false;
  rows.push_back(std::move(row));
  return true;
}

}  // namespace

bool add_written_line(std::string_view line, Metrics& metrics) {
  // The first key tells the kinds apart.
  if (line.starts_with("{\"c")) return add(line, metrics.steps);
  if (line.starts_with("{\"al")) return add(line, metrics.updates);
  return add(line, metrics.evaluations);
}

}  // namespace draftlab
