#include "reports/page/zoom.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/file.h"
#include "reports/page/page.h"
#include "testing/synthetic_folder.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two arms of three runs with `evaluations` evaluations each.
Study study_of(int64_t evaluations) {
  Study study;
  for (const char* arm : {"AdamW", "</script><b>"}) {
    for (int64_t seed = 1; seed <= 3; ++seed) {
      Result r;
      r.arm = arm;
      r.run = r.arm + std::to_string(seed);
      r.optimizer =
          parse_optimizer_config(JsonObject{{"kind", "adamw"}, {"learning_rate", 0.1}}, "test");
      r.seeds = {seed, seed, seed};
      r.outcome = "done";
      for (int64_t i = 0; i < evaluations; ++i) {
        EvaluationRow row;
        row.step = 10 * i;
        row.loss = 10 - 0.01 * static_cast<double>(i + seed);
        row.acceptance_length = 1;
        r.held_out.push_back(row);
      }
      r.config.training.steps = r.steps = 10 * (evaluations - 1);
      study.results.push_back(std::move(r));
    }
  }
  study.results[0].held_out[3].loss = std::numeric_limits<double>::quiet_NaN();
  study.summary = summarize(study.results, {});
  return study;
}

TEST(ZoomData, IsThereForLongCurvesOnly) {
  EXPECT_EQ(zoom_data(study_of(static_cast<int64_t>(kLongCurve) - 1)), "");
  EXPECT_NE(zoom_data(study_of(static_cast<int64_t>(kLongCurve))), "");
}

TEST(ZoomData, HoldsLowMeanAndHighOfEachArmAndCannotEndItsElement) {
  const std::string text = zoom_data(study_of(60));
  EXPECT_THAT(text, Not(HasSubstr("<")));
  const Json data = parse_json(text, "zoom");
  const Json& loss = data.at("charts").at(1);
  EXPECT_EQ(loss.at("names").at(1).as_string(), "</script><b>");
  const JsonArray& rows = loss.at("rows").as_array();
  ASSERT_EQ(rows.size(), 60u);
  EXPECT_EQ(rows[1].at(0), 10);
  EXPECT_NEAR(rows[1].at(1).at(1).to_number<double>(), 9.97, 1e-9);
  // Three values 0.01 apart: their mean's interval is 4.3027 * 0.01 / sqrt(3) to both sides.
  EXPECT_NEAR(rows[1].at(1).at(2).to_number<double>(), 9.97 + 0.0248414, 1e-5);
  EXPECT_EQ(rows[3].at(1).at(1), "NaN");
  EXPECT_NEAR(rows[3].at(2).at(1).to_number<double>(), 9.95, 1e-9);
}

TEST(ZoomData, StaysSmallForCurvesOfAnyLength) {
  EXPECT_LT(zoom_data(study_of(20000)).size(), 400'000u);
}

class ZoomLibraryTest : public ::testing::Test {
 protected:
  ZoomLibraryTest() : folder_(scratch_folder("draftlab_zoom_test")) { make_folder(folder_); }
  ~ZoomLibraryTest() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& script) {
    replace_file(folder_ / "dygraph.min.js", script);
    replace_file(folder_ / "dygraph.min.css", ".a{}");
  }
  std::filesystem::path folder_;
};

TEST_F(ZoomLibraryTest, IsNotThereWhereItIsNotInstalledOrWouldEndItsElement) {
  EXPECT_FALSE(read_zoom_library(folder_));
  write("var a = '</script>';");
  EXPECT_FALSE(read_zoom_library(folder_));
  write("var a = 1;");
  ASSERT_TRUE(read_zoom_library(folder_));
  EXPECT_EQ(read_zoom_library(folder_)->script, "var a = 1;");
}

TEST(Page, RunsExactlyTheScriptsItBringsAlong) {
  const Study study = study_of(60);
  const std::string with = page(study, ZoomLibrary{"abc", ".a{}"});
  // The SHA-256 of "abc" is the example of FIPS 180-2.
  EXPECT_NE(with.find("script-src 'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=' "
                      "'sha256-"),
            std::string::npos);
  EXPECT_NE(with.find("<script>abc</script>"), std::string::npos);
  EXPECT_EQ(with.find("<b>"), std::string::npos);
  const std::string without = page(study);
  EXPECT_EQ(without.find("<script"), std::string::npos);
  EXPECT_EQ(without.find("script-src"), std::string::npos);
  EXPECT_EQ(page(study_of(10), ZoomLibrary{"abc", ".a{}"}).find("<script"), std::string::npos);
}

}  // namespace
}  // namespace draftlab
