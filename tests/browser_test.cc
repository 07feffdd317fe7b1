// The report in a real browser: nothing complains, nothing is fetched, no name becomes markup.
#include "tests/browser.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "reports/page/zoom.h"
#include "testing/synthetic_folder.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BrowserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Browser::program()) GTEST_SKIP() << "needs Chromium: apt-get install chromium";
  }

  // Writes the report of a made-up folder with the real program; its page.
  std::filesystem::path report(const SyntheticSweep& sweep,
                               const std::vector<SyntheticEnd>& ends = {}) {
    const RunFolder folder = write_synthetic_folder(folder_ / "out", sweep, ends);
    const Finished finished = draftlab({"report", folder.root().string()});
    EXPECT_EQ(finished.status, 0) << finished.output;
    return folder.report_page();
  }

  TestFolder folder_;
};

SyntheticSweep long_sweep() {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  sweep.steps = 800;
  sweep.evaluations.clear();
  for (int64_t step = 0; step <= sweep.steps; step += 8) sweep.evaluations.push_back(step);
  for (SyntheticArm& arm : sweep.arms) {
    arm.rates.resize(1);
    arm.lengths.resize(1);
  }
  return sweep;
}

// Names that would run, load, end an element, turn the text around or burst the page.
SyntheticSweep hostile_sweep() {
  SyntheticSweep sweep = long_sweep();
  sweep.name = "<script>window.harm = 1</script>\"'><img src=x onerror=\"window.harm = 1\">";
  sweep.arms[0].name = "</script></title></svg><script>window.harm = 1</script>";
  sweep.arms[1].name =
      "\" onmouseover=\"window.harm = 1\" x='\xE2\x80\xAE"
      "drowkcab";
  sweep.arms[2].name = "__proto__";
  sweep.arms[3].name = std::string(10'000, 'W');
  return sweep;
}

constexpr char kForeign[] =
    "document.querySelectorAll('img,iframe,object,embed,form,base,link,b,i').length + "
    "[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => "
    "a.name.startsWith('on'))).length";
constexpr char kOverflow[] =
    "document.documentElement.scrollWidth - document.documentElement.clientWidth";

// What the other tests do not find, they would have found.
TEST_F(BrowserTest, SeesRefusedScriptsRequestsForeignElementsAndOverflow) {
  replace_file(folder_ / "bad.html",
               "<!DOCTYPE html><meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
               "'none'; style-src 'unsafe-inline'\"><script>window.harm = 1</script><img src=x.png>"
               "<div style=\"width: 5000px\">wide</div>");
  Browser browser;
  browser.open(folder_ / "bad.html");
  EXPECT_GE(browser.complaints().size(), 2u);
  EXPECT_EQ(browser.evaluate("typeof window.harm"), "undefined");
  EXPECT_EQ(browser.evaluate(kForeign), 1);
  EXPECT_GT(browser.evaluate(kOverflow).as_int64(), 1000);
}

TEST_F(BrowserTest, AReportIsWholeWithScriptsAndWithout) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  sweep.target.value = 1.1;  // reached, so that its charts are there
  const std::filesystem::path page = report(sweep);
  for (const bool scripts : {true, false}) {
    Browser browser;
    browser.allow_scripts(scripts);
    browser.open(page);
    EXPECT_EQ(browser.evaluate("document.title"), "quick · draftlab report");
    EXPECT_EQ(browser.evaluate("document.querySelectorAll('script').length"), 0);
    EXPECT_GT(browser.evaluate("document.querySelectorAll('figure > svg').length").as_int64(), 10);
    // Every figure says what it shows, is visible or in a part that opens, and names its numbers.
    EXPECT_EQ(browser.evaluate("[...document.querySelectorAll('figure')].filter(f => "
                               "!f.querySelector('svg > title') || !f.querySelector('svg > desc') "
                               "|| !f.querySelector('figcaption a[href$=\".csv\"]'))"
                               ".map(f => f.querySelector('svg').id).join(' ')"),
              "");
    EXPECT_THAT(browser.complaints(), IsEmpty());
    EXPECT_THAT(browser.requests(), ElementsAre("file://" + page.string()));
  }
}

TEST_F(BrowserTest, FitsWindowsOfEveryWidth) {
  const std::filesystem::path page = report(SyntheticSweep::of_four());
  Browser browser;
  for (const int width : {1400, 800, 380}) {
    browser.set_width(width);
    browser.open(page);
    EXPECT_LE(browser.evaluate(kOverflow).as_int64(), 0) << width;
  }
}

TEST_F(BrowserTest, NamesDoNoHarm) {
  const SyntheticSweep sweep = hostile_sweep();
  const std::filesystem::path page =
      report(sweep, {{synthetic_run(sweep.arms[1].name, sweep.arms[1].rates[0], 2), "failed",
                      sweep.name + std::string(10'000, 'm')}});
  for (const bool scripts : {true, false}) {
    Browser browser;
    browser.allow_scripts(scripts);
    for (const int width : {1200, 380}) {
      browser.set_width(width);
      browser.open(page);
      EXPECT_EQ(browser.evaluate("document.title"), Json(sweep.name + " · draftlab report"));
      EXPECT_EQ(browser.evaluate("document.querySelector('h1').textContent"), Json(sweep.name));
      EXPECT_EQ(browser.evaluate(kForeign), 0);
      EXPECT_EQ(browser.evaluate("typeof window.harm"), "undefined");
      EXPECT_EQ(browser.evaluate("document.body.textContent.includes('\\u202e')"), false);
      EXPECT_LE(browser.evaluate(kOverflow).as_int64(), 0) << width;
    }
    EXPECT_THAT(browser.complaints(), IsEmpty());
  }
}

TEST_F(BrowserTest, LongCurvesCanBeZoomedIntoWhereScriptsRun) {
  if (!read_zoom_library()) GTEST_SKIP() << "needs dygraphs: apt-get install libjs-dygraphs";
  const std::filesystem::path page = report(hostile_sweep());
  Browser browser;
  browser.open(page);
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('canvas').length"), 0);
  browser.evaluate(
      "new Promise(done => { const part = document.querySelector('details.zoom'); "
      "part.addEventListener('toggle', () => setTimeout(done, 0)); part.open = true; })");
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('.zoom .plot').length"), 2);
  EXPECT_GE(browser.evaluate("document.querySelectorAll('.zoom canvas').length").as_int64(), 4);
  EXPECT_EQ(browser.evaluate("[...document.querySelectorAll('.zoom .values')].every(v => "
                             "v.textContent.includes('__proto__') && "
                             "v.textContent.includes('</svg><script>'))"),
            true);
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('.zoom script').length"), 0);
  EXPECT_EQ(browser.evaluate("typeof window.harm"), "undefined");
  EXPECT_LE(browser.evaluate(kOverflow).as_int64(), 0);
  EXPECT_THAT(browser.complaints(), IsEmpty());

  Browser without;
  without.allow_scripts(false);
  without.open(page);
  EXPECT_EQ(without.evaluate("document.querySelector('details.zoom')"), nullptr);
  EXPECT_THAT(without.complaints(), IsEmpty());
}

}  // namespace
}  // namespace draftlab
