#include "reports/page/report.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "reports/checks/checked_study.h"
#include "reports/page/page.h"
#include "reports/page/zoom.h"
#include "reports/switches/switch_study.h"
#include "reports/tables/exported_study.h"
#include "reports/tables/jobs.h"
#include "reports/tables/study_record.h"
#include "reports/tables/tables.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

struct ReportFile {
  const char* name;
  std::string (*text)(const Study& study);
};

// The page first: by it a report is known as one, however far it came.
constexpr ReportFile kFiles[] = {
    {"index.html", [](const Study& study) { return page(study, read_zoom_library()); }},
    {"study.json", study_record},
    {"runs.csv", [](const Study& study) { return runs_csv(study.results); }},
    {"evaluations.csv", [](const Study& study) { return evaluations_csv(study.results); }},
    {"updates.csv", [](const Study& study) { return updates_csv(study.results); }},
    {"arms.csv", arms_csv},
    {"pairs.csv", pairs_csv},
    {"budgets.csv", budgets_csv},
    {"checks.csv", checks_csv},
    {"trials.csv", [](const Study& study) { return trials_csv(study.summary); }},
    {"best_of.csv", [](const Study& study) { return best_of_csv(study.summary); }},
    {"switch_study.csv",
     [](const Study& study) { return switch_study_csv(switch_studies(study)); }},
    {"jobs.csv", [](const Study& study) { return jobs_csv(jobs(study)); }},
};

// NAME.PID.tmp, which a killed report may leave.
bool is_temporary(const std::string& name, const ReportFile& of) {
  return name.starts_with(std::string(of.name) + ".") && name.ends_with(".tmp");
}

bool is_report_file(const fs::path& file) {
  const std::string name = file.filename().string();
  return std::ranges::any_of(kFiles, [&](const ReportFile& each) {
    return name == each.name || is_temporary(name, each);
  });
}

bool holds_only_temporaries(const fs::path& folder) {
  return std::all_of(fs::directory_iterator(folder), fs::directory_iterator(),
                     [](const auto& file) {
                       return std::ranges::any_of(kFiles, [&](const ReportFile& each) {
                         return is_temporary(file.path().filename().string(), each);
                       });
                     });
}

bool is_page(const fs::path& file) {
  return fs::is_regular_file(file) &&
         read_file(file).find("draftlab report</title>") != std::string::npos;
}

}  // namespace

void write_report(const Study& study, const fs::path& out) {
  make_folder(out);
  std::vector<std::pair<fs::path, std::string>> files;
  for (const ReportFile& file : kFiles) {
    std::string text = file.text(study);
    const fs::path path = out / file.name;
    // What an older report said goes before anything new is written, so that whenever this ends, no
    // table stands beside the page of another study.
    if (fs::is_symlink(path) || (fs::exists(path) && read_file(path) != text)) fs::remove(path);
    if (!text.empty()) files.emplace_back(path, std::move(text));  // empty: no such thing here
  }
  for (const auto& [path, text] : files) {
    if (!fs::exists(path)) replace_file(path, text);
  }
}

void write_reports(const std::vector<RunFolder>& folders, const fs::path& out) {
  std::vector<Study> studies;
  std::vector<IndexedReport> reports;
  std::set<std::string> names;
  for (const RunFolder& folder : folders) {
    const std::string name = fs::weakly_canonical(folder.root()).filename().string();
    if (!names.insert(name).second) {
      throw Error(folder.root().string(),
                  "has the name of another folder, and both reports would "
                  "go to " +
                      (out / name).string() + "; rename one");
    }
    studies.push_back(result_or_exported_study(folder.root()));
    reports.push_back({name, nullptr});
  }
  for (const IndexedReport& report : reports) require_report_place(out / report.folder);
  for (size_t i = 0; i < studies.size(); ++i) {
    reports[i].study = &studies[i];
    write_report(studies[i], out / reports[i].folder);
  }
  replace_file(out / kFiles[0].name,
               index_page(fs::weakly_canonical(out).filename().string(), reports));
}

void write_report(const RunFolder& folder) { write_report(checked_study(folder), folder.report()); }

void require_outside_results(const fs::path& out) {
  fs::path path = fs::weakly_canonical(fs::absolute(out));
  for (; path.has_relative_path(); path = path.parent_path()) {
    const RunFolder folder(path);
    if (!fs::exists(folder.plan()) || !fs::exists(folder.segments())) continue;
    throw Error(out.string(), "lies in the result folder " + path.string() +
                                  "; name a place outside of it (its own report goes to " +
                                  folder.report().string() + " without --out)");
  }
}

void require_report_place(const fs::path& out) {
  require_outside_results(out);
  if (!fs::exists(out)) return;
  if (!fs::is_directory(out)) throw Error(out.string(), "is not a folder; name a new one");
  const fs::directory_iterator begin(out), end;
  const auto foreign = std::find_if_not(begin, end, [](const auto& entry) {
    return is_report_file(entry.path()) || is_page(entry.path() / kFiles[0].name);
  });
  if (foreign != end) {
    throw Error(out.string(), "holds " + foreign->path().filename().string() +
                                  ", which is no part of a report; name a new or empty folder");
  }
  if (holds_only_temporaries(out) || is_page(out / kFiles[0].name)) return;
  throw Error(out.string(),
              "holds files, but no index.html that draftlab wrote; name a new or "
              "empty folder");
}

}  // namespace draftlab
