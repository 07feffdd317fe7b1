#include "reports/report.h"

#include "base/file.h"
#include "reports/csv.h"
#include "reports/page.h"
#include "reports/study.h"

namespace draftlab {

void write_report(const RunFolder& folder) {
  const Study study = load_study(folder);
  make_folder(folder.report());
  replace_file(folder.runs_csv(), runs_csv(study.results));
  replace_file(folder.evaluations_csv(), evaluations_csv(study.results));
  replace_file(folder.updates_csv(), updates_csv(study.results));
  replace_file(folder.report_page(), page(study));
}

}  // namespace draftlab
