#pragma once

#include <string>

#include "record/segment.h"

namespace draftlab {

// The canonical text of segments that differ in parent and seeds alone, written once for all of
// them: a plan of many seeds is then as fast as hashing.
class SegmentText {
 public:
  explicit SegmentText(const SegmentConfig& config);

  // segment_id() of the configuration with this parent and these seeds.
  std::string id(const std::string& parent, const Seeds& seeds) const;

 private:
  std::string before_parent_, before_seeds_, after_seeds_;
};

}  // namespace draftlab
