#include <algorithm>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/study/probe.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// Arms with a chosen setting, in the sweep's order, and their first finished runs.
std::vector<std::pair<const Arm*, const Result*>> shown(const Summary& summary) {
  std::vector<std::pair<const Arm*, const Result*>> list;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() != nullptr) list.emplace_back(&arm, arm.chosen()->finished.front());
  }
  return list;
}

std::string milliseconds(double seconds) { return significant(1000 * seconds, 3); }

std::string megabytes(int64_t bytes) {
  return bytes == 0 ? "–" : significant(static_cast<double>(bytes) / 1e6, 3);
}

std::string name_cell(const Arm& arm) { return look_sample(arm.look) + " " + escape(arm.name); }

std::string key(const std::vector<std::pair<size_t, std::string>>& parts) {
  std::string html = "<ul class=\"legend\">";
  for (const auto& [part, name] : parts) html += "<li>" + part_sample(part) + " " + name + "</li>";
  return html + "</ul>\n";
}

BarChart step_chart(const Summary& summary, const std::string& description) {
  BarChart chart;
  chart.text = {"step-parts",
                "Milliseconds per training step",
                description,
                "milliseconds",
                shared_machine(summary) ? "\u2020 shared machine" : "",
                "arms.csv"};
  return chart;
}

// Of arms that were timed alone.
std::string probed_steps(const Summary& summary) {
  BarChart chart = step_chart(summary,
                              "Median time of one training step per arm, timed alone, split into "
                              "data, forward, backward, orthogonalization and the rest of the "
                              "update.");
  chart.looks = {2, 0, 3, 1, 4};
  HtmlTable table({"arm", "data", "forward", "backward", "orthogonalization",
                   "rest of<br>the update", "step", "quartiles", "n"});
  bool periods = false, gpu = false;
  for (const auto& [arm, run] : shown(summary)) {
    const StepTime time = step_time(*run->probe);
    std::vector<double> parts = {time.parts.data, time.parts.forward, time.parts.backward,
                                 time.parts.orthogonalization, time.parts.rest};
    std::vector<std::string> cells = {name_cell(*arm)};
    for (double& part : parts) {
      cells.push_back(milliseconds(part));
      part *= 1000;
    }
    cells.push_back(milliseconds(time.seconds()));
    cells.push_back(milliseconds(time.low) + " to " + milliseconds(time.high));
    const int64_t period = run->probe->period;
    cells.push_back(std::to_string(time.n) +
                    (period == 1 ? "" : " times " + std::to_string(period) + " steps"));
    chart.rows.push_back({arm->name, parts, milliseconds(time.seconds()) + " ms"});
    table.row(cells);
    periods |= period != 1;
    gpu |= run->config.training.device != "cpu";
  }
  std::string note =
      "Milliseconds. One segment of each arm was trained on for some steps while no other run was "
      "at work. Given is the median step; the parts are medians too, scaled to sum to it. Forward "
      "holds the loss, backward the clipping. Evaluation, checkpoints and warm-up are not in it. "
      "Where tensors are updated on several threads side by side, orthogonalization is its share "
      "of the seconds of all threads.";
  if (periods) {
    note +=
        " For SOAP and Shampoo orthogonalization is the making of new bases and roots, and a "
        "sample is the mean step from one making to the next.";
  }
  if (gpu)
    note +=
        " On a GPU only the calls of orthogonalization are in its column; its work is in the "
        "rest.";
  return key({{2, "data"},
              {0, "forward"},
              {3, "backward"},
              {1, "orthogonalization"},
              {4, "rest of the update"}}) +
         figure(chart, "wide") + table.html() + paragraph(note, "note");
}

// Where there are only the clocks of the runs themselves.
std::string measured_steps(const Summary& summary) {
  BarChart chart = step_chart(
      summary, "Mean time of one training step per arm, split into model, optimizer and data.");
  HtmlTable table({"arm", "forward and backward", "optimizer", "data", "step"});
  for (const auto& [arm, run] : shown(summary)) {
    const Setting& setting = *arm->chosen();
    std::vector<double> parts;
    std::vector<std::string> cells = {name_cell(*arm)};
    for (const Sample* sample :
         {&setting.model_per_step, &setting.optimizer_per_step, &setting.data_per_step}) {
      parts.push_back(1000 * sample->estimate.mean);
      cells.push_back(milliseconds(sample->estimate.mean));
    }
    cells.push_back(milliseconds(setting.seconds_per_step.estimate.mean));
    chart.rows.push_back({arm->name, parts, cells.back() + " ms"});
    table.row(cells);
  }
  return key({{0, "forward and backward"}, {1, "optimizer"}, {2, "data"}}) + figure(chart, "wide") +
         table.html() +
         paragraph(
             "Milliseconds, mean over the finished runs of each arm's chosen setting. Evaluation "
             "and checkpoints are not in them.",
             "note");
}

// Which seconds the page goes by.
std::string source_note(const Summary& summary) {
  int64_t probed = 0, alone = 0, rough = 0;
  for (const auto& [arm, first] : shown(summary)) {
    for (const Result* run : arm->chosen()->finished)
      ++(run->seconds_from_probe ? probed : run->alone == true ? alone : rough);
  }
  std::vector<std::string> parts;
  if (probed > 0) {
    parts.push_back("of " + counted(probed, "run") +
                    " that shared the machine they are the steps times the median step timed "
                    "alone");
  }
  if (alone > 0)
    parts.push_back("of " + counted(alone, "run") + " that ran alone they are as measured");
  if (rough > 0) {
    parts.push_back("of " + counted(rough, "run") +
                    " that shared the machine, or may have, they are as measured, and rough");
  }
  return paragraph("Training seconds on this page: " + joined(parts) + ".");
}

std::string memory(const Summary& summary) {
  BarChart chart;
  chart.text = {"memory-parts",
                "Megabytes that training keeps",
                "Memory of weights, gradients and optimizer state per arm.",
                "megabytes (10^6 bytes)",
                "",
                "arms.csv"};
  chart.looks = {2, 0, 1};
  HtmlTable table({"arm", "weights", "gradients", "optimizer state", "sum",
                   "peak of the<br>timed process", "peak of<br>a run"});
  for (const auto& [arm, run] : shown(summary)) {
    std::vector<std::string> cells = {name_cell(*arm)};
    int64_t sum = 0, peak = 0;
    BarRow row{arm->name, {}, ""};
    const Timing none;
    const Timing& timing = run->probe ? *run->probe : none;
    for (int64_t bytes : {timing.weight_bytes, timing.gradient_bytes, timing.optimizer_bytes}) {
      cells.push_back(megabytes(bytes));
      row.parts.push_back(static_cast<double>(bytes) / 1e6);
      sum += bytes;
    }
    for (const Result* each : arm->chosen()->finished)
      peak = std::max(peak, each->peak_memory_bytes);
    cells.push_back(megabytes(sum));
    cells.push_back(megabytes(timing.peak_memory_bytes));
    cells.push_back(megabytes(peak));
    table.row(cells);
    row.total = megabytes(sum) + " MB";
    if (sum > 0) chart.rows.push_back(std::move(row));
  }
  std::string html = "<h3>Memory</h3>\n";
  if (!chart.rows.empty()) {
    html += key({{2, "weights"}, {0, "gradients"}, {1, "optimizer state"}}) + figure(chart, "wide");
  }
  return html + table.html() +
         paragraph(
             "Megabytes (10^6 bytes). Weights, gradients and state are counted where an arm "
             "was timed alone. Peaks are the largest resident set of a process, with libtorch, "
             "activations and the target's frozen embedding and head; that of a run holds "
             "evaluation too, that of the timed process does not.",
             "note");
}

}  // namespace

std::string seconds_section(const Study& study) {
  const Summary& summary = study.summary;
  const auto arms = shown(summary);
  if (arms.empty()) return "";
  const bool probed =
      std::ranges::all_of(arms, [](const auto& arm) { return arm.second->probe.has_value(); });
  return section("seconds", "Seconds per step and memory",
                 source_note(summary) + (probed ? probed_steps(summary) : measured_steps(summary)) +
                     memory(summary));
}

}  // namespace draftlab
