// What happened to the bytes of a store, and what reader and verifier say of it.
#include <gmock/gmock.h>

#include <fstream>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/reader.h"
#include "store/verify.h"
#include "store/writer.h"
#include "testing/small_store.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

class StoreDamage : public SmallStore {};

TEST_F(StoreDamage, AFlippedByteIsFoundInItsRecordAndRefusedByTheReader) {
  build();
  flip_byte(shard(1), offset_of(1, "2.taps") + 5);
  EXPECT_THAT(findings(),
              ::testing::ElementsAre("shard_00001.safetensors, record 2: (p5) its bytes changed"));
  StoreReader reader(folder_);
  reader.record(0);  // in the other shard
  EXPECT_THAT([&] { reader.record(3); },
              ThrowsMessage<Error>(AllOf(HasSubstr("shard_00001.safetensors"),
                                         HasSubstr("not those the manifest lists"))));
}

TEST_F(StoreDamage, AFlippedByteOutsideOfTheRecordsIsFoundInItsShard) {
  build();
  const size_t padding = read_file(shard(0)).find("\"format\"") + 1;
  flip_byte(shard(0), padding);
  EXPECT_THAT(findings(),
              ::testing::ElementsAre(
                  "shard_00000.safetensors: its bytes changed outside of the records' data"));
}

TEST_F(StoreDamage, ATruncatedShardIsFoundWithTheRecordsThatAreCut) {
  build();
  fs::resize_file(shard(0), offset_of(0, "1.loss_mask") + 1);
  const std::vector<std::string> found = findings();
  ASSERT_THAT(found, SizeIs(2));  // the loss masks of records 1 and 2 come last in the file
  EXPECT_THAT(found[0],
              AllOf(HasSubstr("shard_00000.safetensors, record 1: (p1)"), HasSubstr("truncated")));
  EXPECT_THAT(found[1], HasSubstr("record 2: (p2)"));
  StoreReader reader(folder_);
  EXPECT_THAT([&] { reader.record(0); },
              ThrowsMessage<Error>(HasSubstr("shard_00000.safetensors: has ")));
  fs::resize_file(shard(0), 20);
  EXPECT_THAT(findings(), ::testing::ElementsAre(HasSubstr("truncated inside its header")));
}

TEST_F(StoreDamage, AMissingShardIsFound) {
  build();
  fs::remove(shard(1));
  EXPECT_THAT(findings(), ::testing::ElementsAre("shard_00001.safetensors: is missing"));
  StoreReader reader(folder_);
  EXPECT_THAT([&] { reader.record(3); },
              ThrowsMessage<Error>(HasSubstr("shard_00001.safetensors")));
}

TEST_F(StoreDamage, SwappedShardsAreFoundByName) {
  build();
  fs::rename(shard(0), folder_ / "x");
  fs::rename(shard(1), shard(0));
  fs::rename(folder_ / "x", shard(1));
  const std::vector<std::string> found = findings();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0], AllOf(HasSubstr("shard_00000.safetensors, record 0"),
                              HasSubstr("this file is shard_00001.safetensors")));
  EXPECT_THAT(found[1], AllOf(HasSubstr("shard_00001.safetensors, record 0"),
                              HasSubstr("this file is shard_00000.safetensors")));
}

// What a faulty builder could write with right hashes.
TEST_F(StoreDamage, ImpossibleContentsAreFoundWithTheirPosition) {
  const auto expect_found = [&](auto change, const std::string& what) {
    fs::remove_all(folder_);
    build([&](StoredSequence& s) {
      if (s.prompt_id == "p4") change(s);
    });
    EXPECT_THAT(findings(),
                ::testing::ElementsAre("shard_00001.safetensors, record 1: (p4) " + what));
    StoreReader reader(folder_);
    EXPECT_THAT([&] { reader.record(3); },
                ThrowsMessage<Error>(AllOf(HasSubstr("record 1 (p4): " + what))))
        << "nor is it read, in whatever record of the shard";
  };
  expect_found([](StoredSequence& s) { s.taps[3 * kTaps * kHidden + kHidden + 1] = 0x7fc0; },
               "a tap of layer 2 is not a finite number at position 3");
  expect_found([](StoredSequence& s) { s.taps[0] = 0xff80; },
               "a tap of layer 0 is not a finite number at position 0");
  expect_found([](StoredSequence& s) { s.token_ids[1] = kVocabulary; },
               "token_ids holds 50 at position 1, outside of the vocabulary of 50");
  expect_found([](StoredSequence& s) { s.target_argmax[2] = -1; },
               "target_argmax holds -1 at position 2, outside of the vocabulary of 50");
  expect_found([](StoredSequence& s) { s.loss_mask[4] = 0; }, "loss_mask is wrong at position 4");
}

TEST_F(StoreDamage, AFileThatChangesWhileItIsReadIsRefused) {
  build();
  for (const bool cut : {false, true}) {
    StoreReader reader(folder_);
    EXPECT_NO_THROW(reader.record(0));
    const std::string bytes = read_file(shard(0));
    std::string others = cut ? bytes.substr(0, 100) : bytes;
    others.back() ^= 1;
    std::ofstream(shard(0), std::ios::binary) << others;
    EXPECT_THAT([&] { reader.record(1); },
                ThrowsMessage<Error>(AllOf(HasSubstr("shard_00000.safetensors"),
                                           HasSubstr("changed while it was in use"))));
    replace_file(shard(0), bytes);
    EXPECT_NO_THROW(StoreReader(folder_).record(1)) << "the same bytes again";
  }
}

TEST_F(StoreDamage, AFileWithOtherRightsNamesOrTimesIsStillTheSame) {
  build();
  StoreReader reader(folder_);
  const auto tokens = [&] { return reader.record(1).token_ids[0]; };
  const auto before = tokens();
  fs::permissions(shard(0), fs::perms::owner_read);
  EXPECT_EQ(tokens(), before);
  fs::create_hard_link(shard(0), folder_ / "another name");
  EXPECT_EQ(tokens(), before);
  fs::permissions(shard(0), fs::perms::owner_all);
  fs::last_write_time(shard(0), fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(tokens(), before);
}

TEST_F(StoreDamage, ARecordOfAnotherLengthThanTheManifestSaysIsFound) {
  StoreManifest manifest = build();
  ++manifest.shards[0].records[2].length;
  write_manifest(folder_, manifest);
  EXPECT_THAT(findings(),
              ::testing::ElementsAre(AllOf(HasSubstr("shard_00000.safetensors, record 2: (p2)"),
                                           HasSubstr("another dtype or shape"))));
  StoreReader reader(folder_);
  EXPECT_THAT([&] { reader.record(2); },
              ThrowsMessage<Error>(AllOf(HasSubstr("record 2 (p2)"), HasSubstr("token_ids"))));
}

// With right hashes, and as many bytes as it should have.
TEST_F(StoreDamage, ATensorOfAnotherDtypeIsRefused) {
  StoreManifest manifest = build();
  const SafetensorsFile file(shard(0));
  for (const auto& [tensor, dtype] :
       {std::pair("0.token_ids", "F32"), std::pair("0.loss_mask", "I8"),
        std::pair("0.target_argmax", "U32"), std::pair("0.taps", "F16")}) {
    std::map<std::string, SafetensorsEntry> tensors = file.tensors();
    tensors.at(tensor).dtype = dtype;
    const std::string bytes = safetensors_bytes(tensors, file.metadata());
    replace_file(shard(0), bytes);
    manifest.shards[0].bytes = static_cast<int64_t>(bytes.size());
    manifest.shards[0].sha256 = sha256_hex(bytes);
    write_manifest(folder_, manifest);
    EXPECT_THAT(findings(), ::testing::Contains(HasSubstr("another dtype or shape"))) << tensor;
    StoreReader reader(folder_);
    EXPECT_THAT([&] { reader.record(0); },
                ThrowsMessage<Error>(HasSubstr("another dtype or shape")))
        << tensor;
  }
}

}  // namespace
}  // namespace draftlab
