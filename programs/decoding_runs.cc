#include "programs/decoding_runs.h"

#include <algorithm>
#include <ostream>
#include <set>

#include "base/error.h"
#include "base/number_text.h"
#include "base/terminal_text.h"
#include "programs/execution.h"
#include "programs/lone_worker.h"
#include "reports/text/words.h"
#include "runner/interrupt.h"
#include "runner/scheduler.h"

namespace draftlab {

std::optional<DecodingSettings> decoding_of(const PlanRecord& plan) {
  const JsonObject* sweep = plan.sweep.if_object();
  const Json* decode = sweep == nullptr ? nullptr : sweep->if_contains("decode");
  if (decode == nullptr) return std::nullopt;
  return parse_decoding_settings(*decode, plan.sweep_file + ": decode");
}

std::optional<DecodingRecord> decode_run(const RunFolder& folder, const PlanRecord& plan,
                                         const PlannedRun& run, DecodingSettings settings,
                                         const std::filesystem::path& out) {
  const auto segment = std::ranges::find(plan.segments, run.segments.back(), &PlannedSegment::id);
  if (settings.threads == 0) settings.threads = available_cores();
  std::filesystem::path request = out;
  request += ".request";
  write_task_of(folder, plan, *segment);
  write_decoding_request(request, {settings, out});
  const std::string failure = run_lone_worker("decode", folder, *segment, {request});
  std::filesystem::remove(request);
  if (InterruptCounter::count() > 0) return std::nullopt;
  if (!failure.empty()) throw Error(run.name, failure);
  return read_decoding(out);
}

bool decode_reported_runs(const RunFolder& folder, const PlanRecord& plan, std::ostream& out) {
  const auto settings = decoding_of(plan);
  if (!settings) return true;
  const auto outcomes = read_outcomes(folder, plan);
  std::set<std::string> known;  // a segment that two runs end with
  for (const PlannedRun& run : plan.runs) {
    const std::string& last = run.segments.back();
    const auto outcome = outcomes.find(last);
    if (run.phase == kTrial || outcome == outcomes.end() ||
        outcome->second.kind != OutcomeKind::kDone || !known.insert(last).second)
      continue;
    const std::filesystem::path file = SegmentFolder(folder, last).decoding();
    if (std::filesystem::exists(file)) continue;
    if (InterruptCounter::count() > 0) return false;
    try {
      const auto record = decode_run(folder, plan, run, *settings, file);
      if (!record) return false;
      out << "decoding " << printable(run.name) << ": " << decoding_text(*record) << std::endl;
    } catch (const Error& error) {
      out << "decoding with " << printable(error.what())
          << "; the report is written without it, and `draftlab resume` tries again" << std::endl;
    }
  }
  return true;
}

std::string decoding_text(const DecodingRecord& record) {
  const DecodingCost& cost = record.speculative;
  const auto share = [&](double seconds) {
    return fixed(100 * seconds / cost.seconds(), 0) + " %";
  };
  std::string text =
      fixed(cost.tokens_per_pass(), 3) + " tokens a pass, " + fixed(record.speed_up(), 2) +
      " times plain decoding (" + fixed(cost.tokens_per_second(), 1) + " against " +
      fixed(record.plain.tokens_per_second(), 1) + " tokens/s; " + share(cost.draft_seconds) +
      " drafting, " + share(cost.verify_seconds) + " verifying)";
  if (record.is_disturbed())
    text += "; the machine was busy with something else, so seconds say little";
  if (record.settings.temperature > 0) return text;
  const auto answers = static_cast<int64_t>(record.prompts.size());
  if (record.different() == 0) return text + "; " + counted(answers, "answer") + " as without it";
  return text + "; " + std::to_string(record.different()) + " of " + counted(answers, "answer") +
         " DIFFER from plain decoding";
}

}  // namespace draftlab
