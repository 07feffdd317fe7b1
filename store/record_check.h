#pragma once

#include <string>
#include <vector>

#include "store/manifest.h"
#include "store/reader.h"

namespace draftlab {

// What is wrong with the values of a record, whatever its hash says: ids outside of the vocabulary,
// a loss mask that is not the response, states that are not finite. Empty if nothing is. Linear in
// the record's bytes.
std::vector<std::string> faults_of(const StoreRecord& record, const StoreManifest& manifest);

}  // namespace draftlab
