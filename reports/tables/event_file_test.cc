#include "reports/tables/event_file.h"

#include <gtest/gtest.h>

#include <cmath>

namespace draftlab {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (unsigned char c : bytes) {
    text += "0123456789abcdef"[c / 16];
    text += "0123456789abcdef"[c % 16];
  }
  return text;
}

TEST(EventFile, ChecksumsAreMaskedCrc32c) {
  constexpr uint32_t kCrc = 0xe3069283;
  EXPECT_EQ(masked_crc32c("123456789"),
            static_cast<uint32_t>(((kCrc >> 15) | (kCrc << 17)) + 0xa282ead8u));
}

// Made with the RecordWriter and the messages of tensorboard 2.21.
TEST(EventFile, BytesAreThoseOfTheRealWriter) {
  EXPECT_EQ(hex(event_file_version(1.5)),
            "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c");
  EXPECT_EQ(hex(scalar_event(2, 300, {{"a/b", 0.5}, {"c", NAN}})),
            "2400000000000000422b804d09000000000000004010ac022a160a0a0a03612f62150000003f0a080a0163"
            "150000c07fe0715299");
}

}  // namespace
}  // namespace draftlab
