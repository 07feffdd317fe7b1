#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

#include "store/manifest.h"
#include "store/specification.h"

namespace draftlab {

// How far a build is. Tokens of finished shards of an earlier, killed build are not counted.
struct CaptureProgress {
  int64_t prompt_tokens = 0, response_tokens = 0;   // done
  int64_t prompt_tokens_expected = 0;               // exact
  int64_t response_tokens_expected = 0;             // a guess that gets better: responses end early
  double prompt_seconds = 0, response_seconds = 0;  // spent on them so far
  int64_t shard = 0, shards = 0;                    // the one in work, from 1
};
std::string progress_text(const CaptureProgress& progress);

// Builds the store of a specification in `folder`, or finishes a killed build there: finished
// shards are kept, the rest is made again with the same bytes. A complete store of the same
// specification is left as it is. Deterministic: a pure function of the specification and the
// machine's arithmetic. Throws Error, e.g. if the folder holds the store of another specification
// or another build is at work there. What `on_progress` throws ends the build and leaves a folder
// that can be finished.
StoreManifest capture_store(const StoreSpecification& specification,
                            const std::filesystem::path& folder,
                            const std::function<void(const CaptureProgress&)>& on_progress = {});

// capture_store for a program: reads the specification, writes progress lines to `out`; `live`: one
// line that is rewritten in place, for terminals. Returns an exit status, 0; errors are thrown.
int build_store(const std::filesystem::path& specification_file,
                const std::filesystem::path& folder, std::ostream& out, bool live = false);

}  // namespace draftlab
