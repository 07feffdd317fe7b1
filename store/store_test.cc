// Writer, reader, verifier and description on one small store.
#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/describe.h"
#include "store/file_hash.h"
#include "store/reader.h"
#include "store/specification.h"
#include "store/verify.h"
#include "store/writer.h"
#include "testing/every_field.h"
#include "testing/small_store.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class Store : public SmallStore {};

TEST_F(Store, WhatIsWrittenReadsBackInManifestOrder) {
  const StoreManifest written = build();
  EXPECT_THAT(findings(), IsEmpty());
  StoreReader reader(folder_);
  EXPECT_EQ(reader.manifest().hash(), written.hash());
  ASSERT_EQ(reader.size(), kShards * kPerShard);
  for (int64_t i : {4, 0, 5, 1, 2, 3}) {  // any order
    const StoredSequence expected = sequences_of(i / kPerShard)[i % kPerShard];
    const StoreRecord record = reader.record(i);
    EXPECT_EQ(record.entry->prompt_id, expected.prompt_id);
    EXPECT_EQ(record.entry->prompt_length, expected.prompt_length);
    EXPECT_EQ(record.entry->looped, expected.looped);
    EXPECT_THAT(record.token_ids, ::testing::ElementsAreArray(expected.token_ids));
    EXPECT_THAT(record.loss_mask, ::testing::ElementsAreArray(expected.loss_mask));
    EXPECT_THAT(record.target_argmax, ::testing::ElementsAreArray(expected.target_argmax));
    EXPECT_THAT(record.taps, ::testing::ElementsAreArray(expected.taps));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(record.token_ids.data()) % alignof(int32_t), 0);
  }
  EXPECT_THAT([&] { reader.record(6); }, ThrowsMessage<Error>(HasSubstr("has no record 6")));
  EXPECT_EQ(written.tokens(), 2 * (5 + 6 + 7));
  EXPECT_EQ(written.response_tokens(), 2 * (3 + 3 + 3));
  EXPECT_DOUBLE_EQ(written.looped_share, 1.0 / 3);
}

TEST_F(Store, GroupsOfPromptsAreReadBackAndPartOfTheIdentity) {
  const StoreManifest without = build();
  EXPECT_THAT(canonical(to_json(without)), ::testing::Not(HasSubstr("group")));
  EXPECT_THAT(without.groups(), ::testing::Each(""));
  fs::remove_all(folder_);
  int64_t count = 0;
  const StoreManifest grouped =
      build([&](StoredSequence& s) { s.group = ++count % 3 == 0 ? "sums" : "stories"; });
  EXPECT_NE(grouped.hash(), without.hash());
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_THAT(read_manifest(folder_).groups(),
              ::testing::ElementsAre("stories", "stories", "sums", "stories", "stories", "sums"));
}

// What a store that keeps them has in addition: one row of the hidden size a token.
TEST_F(Store, FinalHiddenStatesAreARowATokenAndPartOfTheIdentity) {
  const StoreManifest without = build();
  EXPECT_FALSE(to_json(without).contains("final_hidden"));
  EXPECT_THAT(StoreReader(folder_).record(0).final_hidden, IsEmpty());
  EXPECT_THAT(describe_store(folder_), ::testing::Not(HasSubstr("final hidden")));
  fs::remove_all(folder_);

  StoreManifest keeps = header();
  keeps.final_hidden = "after_final_norm";
  const auto build_with = [&](uint16_t first) {
    fs::remove_all(folder_);
    StoreWriter writer(folder_, keeps, 1);
    std::vector<StoredSequence> sequences = sequences_of(0);
    for (StoredSequence& s : sequences) {
      for (size_t i = 0; i < s.token_ids.size() * kHidden; ++i)
        s.final_hidden.push_back(static_cast<uint16_t>(i + first));
    }
    writer.write_shard(0, sequences);
    return writer.finish();
  };
  const StoreManifest manifest = build_with(3);
  EXPECT_THAT(findings(), IsEmpty());
  StoreReader reader(folder_);
  EXPECT_EQ(reader.manifest().hash(), manifest.hash());
  const StoreRecord record = reader.record(1);
  ASSERT_EQ(record.final_hidden.size(), 6u * kHidden);
  for (size_t i = 0; i < record.final_hidden.size(); ++i) EXPECT_EQ(record.final_hidden[i], i + 3);
  EXPECT_EQ(manifest.final_hidden_bytes(), (5 + 6 + 7) * 2 * kHidden);
  EXPECT_THAT(describe_store(folder_),
              AllOf(HasSubstr("final hidden"), HasSubstr("8 bytes a token, 144 in all")));

  flip_byte(shard(0), offset_of(0, "1.final_hidden"));
  EXPECT_THAT(findings(),
              ::testing::ElementsAre("shard_00000.safetensors, record 1: (p1) its bytes changed"));
  EXPECT_NE(build_with(4).hash(), manifest.hash());
  build_with(0x7f80 - 9);  // infinity at entry 9, which is in row 2
  EXPECT_THAT(findings(), ::testing::Contains(HasSubstr(
                              "the final hidden state is not a finite number at position 2")));

  const std::string text = read_file(manifest_file(folder_));
  replace_file(manifest_file(folder_),
               std::string(text).replace(text.find("after_final_norm"), 5, "befor"));
  EXPECT_THAT([&] { StoreReader again(folder_); },
              ThrowsMessage<Error>(HasSubstr("final_hidden: 'befor_final_norm' is not known")));
}

TEST_F(Store, TheLastShardMayBeSmaller) {
  StoreWriter writer(folder_, header(), kShards);
  writer.write_shard(0, sequences_of(0));
  std::vector<StoredSequence> last = sequences_of(1);
  last.pop_back();
  writer.write_shard(1, last);
  writer.finish();
  StoreReader reader(folder_);
  ASSERT_EQ(reader.size(), 5);
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(reader.record(i).entry->prompt_id, "p" + std::to_string(i));
  EXPECT_EQ(reader.record(4).token_ids[0], last[1].token_ids[0]);
  EXPECT_THAT([&] { reader.record(5); }, ThrowsMessage<Error>(HasSubstr("has no record 5")));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Store, EveryFieldOfAManifestReadsBackAndGivesTheDataItsIdentity) {
  const StoreManifest manifest = build();
  const Json json = parse_json(canonical(to_json(manifest)), "x");
  EXPECT_EQ(field_texts(manifest_from_json(json, "x")), field_texts(manifest));
  StoreManifest walked = manifest;
  for (size_t i = 0; i < every_field(walked).size(); ++i) {
    StoreManifest changed = manifest;
    const Field field = every_field(changed)[i];
    change(field);
    EXPECT_EQ(changed.hash() == manifest.hash(), field.text == &changed.target_file)
        << "field " << field.path;
  }
}

TEST_F(Store, TheEndsOfATurnAreToldAndAreNoPartOfTheIdentity) {
  StoreManifest manifest = build();
  const std::string hash = manifest.hash();
  manifest.end_token_ids = {2, 7};
  EXPECT_EQ(manifest.hash(), hash);
  EXPECT_EQ(manifest_from_json(to_json(manifest), "x").end_token_ids, manifest.end_token_ids);
}

TEST_F(Store, TheHashDependsOnTheData) {
  const std::string hash = build().hash();
  fs::remove_all(folder_);
  const StoreManifest other = build([](StoredSequence& s) { s.token_ids.back() ^= 1; });
  EXPECT_NE(other.hash(), hash);
}

TEST_F(Store, TheHashOfARecordDependsOnEachPartOfIt) {
  const auto hash = [&](const std::function<void(StoredSequence&)>& change) {
    fs::remove_all(folder_);
    return build([&](StoredSequence& s) {
             if (s.prompt_id == "p0") change(s);
           })
        .shards[0]
        .records[0]
        .sha256;
  };
  std::set<std::string> hashes = {hash([](StoredSequence&) {})};
  hashes.insert(hash([](StoredSequence& s) { s.token_ids[1] ^= 1; }));
  hashes.insert(hash([](StoredSequence& s) { s.loss_mask[1] ^= 1; }));
  hashes.insert(hash([](StoredSequence& s) { s.target_argmax[1] ^= 1; }));
  hashes.insert(hash([](StoredSequence& s) { s.taps[1] ^= 1; }));
  EXPECT_EQ(hashes.size(), 5u);
}

TEST_F(Store, AKilledBuildKeepsItsFinishedShardsAndEndsUpTheSame) {
  const std::string hash = build().hash();
  fs::remove_all(folder_);
  {
    StoreWriter writer(folder_, header(), kShards);
    writer.write_shard(0, sequences_of(0));
  }
  EXPECT_THAT([&] { read_manifest(folder_); }, ThrowsMessage<Error>(HasSubstr("not finished")));
  EXPECT_THAT(describe_store(folder_), HasSubstr("unfinished"));
  StoreWriter writer(folder_, header(), kShards);
  EXPECT_TRUE(writer.has_shard(0));
  EXPECT_FALSE(writer.has_shard(1));
  EXPECT_THAT([&] { writer.finish(); }, ThrowsMessage<Error>(HasSubstr("shard_00001.safetensors")));
  writer.write_shard(1, sequences_of(1));
  EXPECT_EQ(writer.finish().hash(), hash);
  EXPECT_FALSE(fs::exists(building_file(folder_)));
}

TEST_F(Store, ADamagedShardIsMadeAgainInAnUnfinishedAndInAFinishedStore) {
  {
    StoreWriter writer(folder_, header(), kShards);
    writer.write_shard(0, sequences_of(0));
    writer.write_shard(1, sequences_of(1));
    flip_byte(shard(0), offset_of(0, "0.taps"));
  }
  std::string hash;
  {
    StoreWriter writer(folder_, header(), kShards);
    EXPECT_FALSE(writer.has_shard(0));
    EXPECT_TRUE(writer.has_shard(1));
    writer.write_shard(0, sequences_of(0));
    hash = writer.finish().hash();
  }
  fs::resize_file(shard(1), 100);
  StoreWriter writer(folder_, header(), kShards);
  EXPECT_TRUE(writer.has_shard(0));
  EXPECT_FALSE(writer.has_shard(1));
  writer.write_shard(1, sequences_of(1));
  EXPECT_EQ(writer.finish().hash(), hash);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Store, AnotherSpecificationInTheSameFolderIsRefusedKeyByKey) {
  StoreManifest other = header();
  other.specification.at("responses").as_object()["seed"] = 2;
  const auto open_other = [&] { StoreWriter writer(folder_, other, kShards); };
  { StoreWriter writer(folder_, header(), kShards); }
  EXPECT_THAT(open_other,
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("building.json"), HasSubstr("responses.seed: 1 there, 2 here"))));
  build();
  EXPECT_THAT(open_other,
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("manifest.json"), HasSubstr("responses.seed: 1 there, 2 here"))));
}

TEST_F(Store, ASecondBuilderIsKeptOut) {
  StoreWriter writer(folder_, header(), kShards);
  EXPECT_THAT([&] { StoreWriter second(folder_, header(), kShards); },
              ThrowsMessage<Error>(HasSubstr("another draftlab works in this folder")));
}

TEST_F(Store, ABuilderOnAnotherMachineKeepsTheFolderUntilItIsSilent) {
  make_folder(folder_);
  replace_file(folder_ / "lock", "pid 7 on another.machine since 2026-01-02T03:04:05Z");
  EXPECT_THAT([&] { build(); }, ThrowsMessage<Error>(HasSubstr("pid 7 on another.machine")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  fs::last_write_time(folder_ / "lock", fs::file_time_type::clock::now() - std::chrono::minutes(2));
  build();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Store, AFileThatChangedIsHashedAgain) {
  make_folder(folder_);
  replace_file(folder_ / "x", "one");
  EXPECT_EQ(sha256_once(folder_ / "x"), sha256_hex("one"));
  replace_file(folder_ / "x", "another");
  EXPECT_EQ(sha256_once(folder_ / "x"), sha256_hex("another"));
  // Of one size within one tick of the file system's clock, in place.
  for (const std::string text : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    std::ofstream(folder_ / "x") << text;
    EXPECT_EQ(sha256_once(folder_ / "x"), sha256_hex(text));
  }
}

TEST_F(Store, AManifestOfAnotherConventionOrVersionIsRefused) {
  build();
  const std::string text = read_file(manifest_file(folder_));
  const auto expect_refused = [&](const std::string& from, const std::string& to,
                                  const std::string& reason) {
    std::string changed = text;
    replace_file(manifest_file(folder_), changed.replace(changed.find(from), from.size(), to));
    EXPECT_THAT([&] { StoreReader reader(folder_); }, ThrowsMessage<Error>(HasSubstr(reason)));
  };
  expect_refused("output_of_layer", "input_of_layer",
                 "layer_id_convention: 'input_of_layer' is not known");
  expect_refused("\"version\": 1", "\"version\": 2", "reads version 1");
  expect_refused("\"looped\"", "\"loped\"", "shards[0].records[0].looped: is missing");
  expect_refused("\"mask_token_id\": 0", "\"mask_token_id\": 50",
                 "mask_token_id: must lie between 0 and 49");
  expect_refused("\"prompt_length\": 2", "\"prompt_length\": 9",
                 "shards[0].records[0].length: must be at least 9");
}

TEST_F(Store, TheDescriptionNamesWhatGivesTheDataItsIdentity) {
  const StoreManifest manifest = build();
  const std::string text = describe_store(folder_);
  for (const std::string& part :
       {std::string("made up"), std::string("0, 2"), manifest.hash(), std::string("abc"),
        std::string("6 in 2 shards"), std::string("33.3 %"), std::string("greedy")}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT([&] { describe_store(folder_ / "none"); },
              ThrowsMessage<Error>(HasSubstr("is no store")));
}

}  // namespace
}  // namespace draftlab
