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

// Functions for the page: texts that are shown, as {node, element, rect}.
constexpr char kMeasures[] = R"(
window.shownTexts = () => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), all = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.textContent.trim() || element.closest('svg title, svg desc, script, style')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const rect = range.getBoundingClientRect();
    if (rect.width > 0 && element.checkVisibility()) all.push({node, element, rect});
  }
  return all;
};
// Labels that leave their drawing, or lie on another one.
window.clippedLabels = () => {
  const bad = [], labelsOf = new Map();
  for (const text of shownTexts()) {
    const svg = text.element.closest('figure svg');
    if (!labelsOf.has(svg)) labelsOf.set(svg, []);
    labelsOf.get(svg).push(text);
  }
  for (const svg of document.querySelectorAll('figure svg')) {
    const box = svg.getBoundingClientRect();
    const labels = labelsOf.get(svg) || [];
    labels.forEach((one, i) => {
      const r = one.rect;
      if (r.left < box.left - 1 || r.right > box.right + 1 || r.bottom > box.bottom + 2)
        bad.push(svg.id + ': ' + one.node.textContent + ' leaves the drawing');
      for (const other of labels.slice(i + 1)) {
        const o = other.rect;
        if (Math.min(r.right, o.right) - Math.max(r.left, o.left) > 2 &&
            Math.min(r.bottom, o.bottom) - Math.max(r.top, o.top) > 5)
          bad.push(svg.id + ': ' + one.node.textContent + ' on ' + other.node.textContent);
      }
    });
  }
  return bad.join('\n');
};
window.smallestText = () => Math.min(...shownTexts().map(({element}) => {
  const scale = element.closest('svg') ? element.getScreenCTM().a : 1;
  return scale * parseFloat(getComputedStyle(element).fontSize);
}));
window.rgb = colour => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
window.linear = rgb => rgb.slice(0, 3).map(v => v / 255).map(v =>
  v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
// Relative luminance and contrast of WCAG 2.
window.contrast = (a, b) => {
  const light = c => 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
  const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};
// As those without green cones see it: Machado, Oliveira and Fernandes (2009), severity 1.
window.deuteranope = ([r, g, b]) => [0.367322 * r + 0.860646 * g - 0.227968 * b,
  0.280085 * r + 0.672501 * g + 0.047413 * b, -0.011820 * r + 0.042940 * g + 0.968881 * b]
  .map(v => Math.min(1, Math.max(0, v)));
window.paperOf = element => {
  for (; element; element = element.parentElement) {
    const colour = rgb(getComputedStyle(element).backgroundColor);
    if (colour[3] === 255) return linear(colour);
  }
};
window.faintTexts = () => [...new Set(shownTexts().filter(({element}) => {
  const style = getComputedStyle(element);
  const ink = linear(rgb(element.closest('svg') ? style.fill : style.color));
  return contrast(ink, paperOf(element)) < 4.5;
}).map(t => t.node.textContent))].join('\n');
// Hues and lightnesses of arms that do not stand out from the paper.
window.faintLooks = () => {
  const bad = [], svg = document.querySelector('figure svg');
  for (let hue = 0; hue < 7; ++hue) {
    for (const lightness of ['', ' l1', ' l2']) {
      const mark = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      mark.setAttribute('class', 'mean c' + hue + lightness);
      svg.append(mark);
      const stroke = getComputedStyle(mark).stroke, paper = paperOf(svg);
      const ink = stroke === 'none' ? paper : linear(rgb(stroke));
      mark.remove();
      for (const seen of [c => c, deuteranope]) {
        const measured = contrast(seen(ink), seen(paper));
        if (!(measured >= 3))
          bad.push('c' + hue + lightness + ' ' + (seen === deuteranope) + ' ' + measured.toFixed(2));
      }
    }
  }
  return bad.join('\n');
};
// What is read above the fold, outside of pictures. Ids of checks are neither words nor numbers.
window.fold = () => {
  const tokens = shownTexts().filter(t => !t.element.closest('svg') && t.rect.top < 900)
    .flatMap(t => t.node.textContent.trim().split(/\s+/));
  const words = tokens.filter(t => /\p{L}{2}/u.test(t));
  return {words: words.length, numbers: tokens.filter(t => /\d/.test(t) && !/\p{L}/u.test(t)).length,
    chart: Math.round(document.querySelector('figure svg').getBoundingClientRect().top),
    text: tokens.join(' ')};
};
true)";

// What the other tests do not find, they would have found.
TEST_F(BrowserTest, SeesClippedSmallAndFaintLabels) {
  replace_file(folder_ / "bad.html",
               "<!DOCTYPE html><body style=\"background: #fff\"><p>fine</p><p style=\"color: "
               "#ccc\">faint</p><figure><svg id=\"s\" viewBox=\"0 0 200 100\" width=\"100\">"
               "<text x=\"180\" y=\"20\" font-size=\"12\">leaves it</text><text y=\"60\">one"
               "</text><text y=\"62\">two</text></svg></figure>");
  Browser browser;
  browser.open(folder_ / "bad.html");
  browser.evaluate(kMeasures);
  EXPECT_EQ(browser.evaluate("clippedLabels()"), "s: leaves it leaves the drawing\ns: one on two");
  EXPECT_EQ(browser.evaluate("smallestText()"), 6);
  EXPECT_EQ(browser.evaluate("faintTexts()"), "faint");
  EXPECT_NE(browser.evaluate("faintLooks()"), "");  // no look has a stroke here
}

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

TEST_F(BrowserTest, LabelsAreWholeLargeEnoughAndStandOutAtEveryWidthInBothSchemes) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  sweep.target.value = 1.1;
  sweep.arms[1].name = "an optimizer with quite a long name, momentum 0.95";
  sweep.arms[2].name = "an optimizer with quite a long name, momentum 0.98";
  sweep.arms[3].name = std::string(60, 'W');
  sweep.arms.push_back({"slow Muon", "muon", {1e-3, 2e-3}, {1.25, 1.27}, 0.11});  // more than four
  const std::filesystem::path page = report(sweep);
  Browser browser;
  const auto open = [&](int width) {
    browser.set_width(width);
    browser.open(page);
    browser.evaluate(kMeasures);
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)");
  };
  for (const int width : {1400, 800, 400}) {
    open(width);
    EXPECT_EQ(browser.evaluate("clippedLabels()"), "") << width;
    EXPECT_EQ(browser.evaluate("smallestText() >= 9 || smallestText()"), true) << width;
    EXPECT_LE(browser.evaluate(kOverflow).as_int64(), 0) << width;
  }
  for (const bool dark : {false, true}) {
    browser.set_dark(dark);
    open(1400);
    EXPECT_EQ(browser.evaluate("faintTexts()"), "") << dark;
    EXPECT_EQ(browser.evaluate("faintLooks()"), "") << dark;
  }
}

TEST_F(BrowserTest, TheFirstScreenIsReadInTenSeconds) {
  const std::filesystem::path page = report(SyntheticSweep::of_four());
  Browser browser;
  browser.set_width(1400);
  browser.open(page);
  browser.evaluate(kMeasures);
  const Json fold = browser.evaluate("fold()");
  EXPECT_LE(fold.at("words").as_int64(), 60) << canonical(fold);
  EXPECT_LE(fold.at("numbers").as_int64(), 12) << canonical(fold);
  EXPECT_LT(fold.at("chart").as_int64(), 250) << canonical(fold);
}

TEST_F(BrowserTest, NegativeNumbersHaveAMinusSign) {
  const std::filesystem::path page = report(SyntheticSweep::of_four());
  Browser browser;
  browser.open(page);
  browser.evaluate(kMeasures);
  browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)");
  EXPECT_EQ(browser.evaluate("shownTexts().map(t => t.node.textContent)"
                             ".filter(t => /(^|[\\s(])-\\d/.test(t)).join('\\n')"),
            "");
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
      EXPECT_EQ(
          browser.evaluate("document.querySelector('.kicker').textContent.startsWith('<script>"
                           "window.harm = 1</script>\"')"),
          true);
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
  // By keyboard as well: what is shown of the horizontal axis and the values follow.
  browser.evaluate(
      "window.press = key => { const plot = document.querySelector('.zoom .plot'); plot.focus(); "
      "plot.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})); "
      "return document.querySelector('.zoom .values').textContent.match(/step ([\\d.]+)/)[1]; }; "
      "true");
  EXPECT_EQ(browser.evaluate("press('+')"), "400");
  EXPECT_EQ(browser.evaluate("press('ArrowRight')"), "504");
  EXPECT_EQ(browser.evaluate("press('0')"), "400");
  EXPECT_EQ(browser.evaluate("press('+'); document.querySelectorAll('.zoom .values')[1]"
                             ".textContent.match(/step ([\\d.]+)/)[1]"),
            "400")
      << "the other chart follows";
  EXPECT_EQ(browser.evaluate("press('ArrowRight'); document.querySelectorAll('.zoom .values')[1]"
                             ".textContent.match(/step ([\\d.]+)/)[1]"),
            "504");
  EXPECT_EQ(browser.evaluate("document.activeElement.className"), "plot");
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
