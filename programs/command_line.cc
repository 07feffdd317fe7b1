#include "programs/command_line.h"

#include <algorithm>
#include <boost/program_options/parsers.hpp>
#include <charconv>
#include <iostream>

#include "base/nearest_name.h"

namespace draftlab {

namespace po = boost::program_options;

CommandLine::CommandLine(std::string help) : help_(std::move(help)), shown_("options") {
  flag("help", "print this and end");
}

void CommandLine::argument(const std::string& name) {
  hidden_.add_options()(name.c_str(), po::value<std::string>());
  positions_.add(name.c_str(), 1);
  arguments_.push_back(name);
  valued_.push_back(name);
}

void CommandLine::arguments(const std::string& name) {
  hidden_.add_options()(name.c_str(), po::value<std::vector<std::string>>());
  positions_.add(name.c_str(), -1);
  arguments_.push_back(name);
  valued_.push_back(name);
}

void CommandLine::option(const std::string& name, const std::string& value,
                         const std::string& meaning) {
  shown_.add_options()(name.c_str(), po::value<std::string>()->value_name(value), meaning.c_str());
  options_.push_back("--" + name);
  valued_.push_back(name);
}

void CommandLine::options(const std::string& name, const std::string& value,
                          const std::string& meaning) {
  shown_.add_options()(name.c_str(),
                       po::value<std::vector<std::string>>()->composing()->value_name(value),
                       meaning.c_str());
  options_.push_back("--" + name);
  valued_.push_back(name);
}

void CommandLine::flag(const std::string& name, const std::string& meaning) {
  shown_.add_options()(name.c_str(), meaning.c_str());
  options_.push_back("--" + name);
}

bool CommandLine::parse(const std::vector<std::string>& words) {
  namespace style = po::command_line_style;
  po::options_description all;
  all.add(shown_).add(hidden_);
  try {
    po::store(po::command_line_parser(words)
                  .options(all)
                  .positional(positions_)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values_);
  } catch (const po::unknown_option& error) {
    std::string text = "unknown option " + error.get_option_name();
    const std::string nearest = nearest_name(error.get_option_name(), options_);
    if (!nearest.empty()) text += "; did you mean " + nearest + "?";
    throw UsageError(text);
  } catch (const po::too_many_positional_options_error&) {
    throw UsageError("too many arguments");
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  if (given("help")) {
    std::cout << help_ << "\n" << shown_;
    return false;
  }
  for (const std::string& name : arguments_) {
    if (!given(name)) throw UsageError(name + " is missing");
  }
  for (const std::string& name : valued_) {
    const std::vector<std::string> given_texts = texts(name);
    if (std::ranges::count(given_texts, "") > 0)
      throw UsageError((std::ranges::count(arguments_, name) > 0 ? "" : "--") + name +
                       " is empty; give it a value");
  }
  return true;
}

std::string CommandLine::text(const std::string& name) const {
  return values_[name].as<std::string>();
}

std::vector<std::string> CommandLine::texts(const std::string& name) const {
  if (!given(name)) return {};
  const auto* one = boost::any_cast<std::string>(&values_[name].value());
  return one != nullptr ? std::vector{*one} : values_[name].as<std::vector<std::string>>();
}

std::optional<std::string> CommandLine::optional_text(const std::string& name) const {
  if (!given(name)) return std::nullopt;
  return text(name);
}

std::optional<int64_t> CommandLine::whole_number(const std::string& name, int64_t low,
                                                 int64_t high) const {
  if (!given(name)) return std::nullopt;
  const std::string value = text(name);
  int64_t number = 0;
  const auto result = std::from_chars(value.data(), value.data() + value.size(), number);
  if (result.ec != std::errc() || result.ptr != value.data() + value.size() || number < low ||
      number > high) {
    throw UsageError("--" + name + " must be a whole number from " + std::to_string(low) + " to " +
                     std::to_string(high) + ", is '" + value + "'");
  }
  return number;
}

}  // namespace draftlab
