#include "reports/tables/jobs.h"

#include <gmock/gmock.h>

namespace draftlab {
namespace {

Study study() {
  Study study;
  study.results.resize(3);
  study.results[0].run = "A, seed=1";
  study.results[0].segments = {"aa"};
  study.results[1].run = "M seed=1";
  study.results[1].segments = {"cc", "bb"};
  study.results[2].run = "M seed=2";
  study.results[2].segments = {"cc", "dd"};
  study.events = {{"aa", 100, 150, "interrupted", 1},
                  {"cc", 120, 160, "done", 2},
                  {"aa", 200, 260, "done", 1},
                  {"zz", 210, 0, "", 1}};
  return study;
}

TEST(Jobs, AreTheSegmentsThatStartedWithTheirAttempts) {
  const std::vector<Job> all = jobs(study());
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "A, seed=1");
  ASSERT_EQ(all[0].attempts.size(), 2u);
  EXPECT_EQ(all[0].attempts[1].outcome, "done");
  EXPECT_EQ(all[1].name, "M seed=1, part 1, and 1 more");
  EXPECT_EQ(all[2].name, "segment zz");
}

TEST(JobsCsv, HasARowForEachAttemptAndNoEndWhereNoneIsRecorded) {
  EXPECT_EQ(jobs_csv(jobs(study())),
            "segment,runs,attempt,start,end,seconds,threads,outcome\r\n"
            "aa,\"A, seed=1\",1,100,150,50,1,interrupted\r\n"
            "aa,\"A, seed=1\",2,200,260,60,1,done\r\n"
            "cc,\"M seed=1, part 1, and 1 more\",1,120,160,40,2,done\r\n"
            "zz,segment zz,1,210,,,1,\r\n");
}

}  // namespace
}  // namespace draftlab
