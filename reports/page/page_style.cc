#include "reports/page/page.h"

namespace draftlab {

// Colours of the arms are those of Okabe and Ito (2008), which colour-blind readers can tell apart,
// lightened on a dark page.
std::string_view page_style() {
  return R"(:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1b1f24; --soft: #5b6470; --rule: #d9dde2; --faint: #f4f5f7; --link: #0b5cad;
  --warn: #9a4b00; --k0: #0072b2; --k1: #d55e00; --k2: #009e73; --k3: #b9558f; --k4: #b57b00;
  --k5: #3a9bd1; --k6: #1b1f24; --p0: #4d5b6b; --p1: #e69f00; --p2: #c3cad2;
  --p3: #8d9aa8; --p4: #f5d78f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181c; --ink: #e4e7eb; --soft: #9aa4b0; --rule: #343b44; --faint: #1d2126;
    --link: #7ab8f5; --warn: #f0a860; --k0: #56a8e0; --k1: #ff8c42; --k2: #2fc79a; --k3: #e796c6;
    --k4: #f0b429; --k5: #9fd8f7; --k6: #e4e7eb; --p0: #7f8fa3; --p1: #e0a21b; --p2: #47515d;
    --p3: #5d6a79; --p4: #8a6a1f;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 32px 24px 80px; overflow-wrap: break-word; }
.kicker { margin: 0; color: var(--soft); font-size: 14px; }
h1 { margin: 2px 0 16px; font-size: 25px; line-height: 1.2; font-weight: 650;
  overflow-wrap: anywhere; }
h2 { margin: 44px 0 14px; padding-top: 14px; border-top: 1px solid var(--rule); font-size: 21px;
  font-weight: 650; }
h3 { margin: 28px 0 10px; font-size: 16px; font-weight: 650; }
p { margin: 0 0 12px; max-width: 78ch; }
.opening { display: grid; grid-template-columns: minmax(0, 660px) minmax(0, 1fr); gap: 12px 32px;
  align-items: start; }
.opening > div { min-width: 0; }
.opening figure svg, .opening figcaption { max-width: 660px; }
.boxes { display: grid; grid-template-columns: auto 1fr; gap: 4px 16px; margin: 0 0 12px;
  font-size: 14px; align-items: baseline; }
.boxes dt { color: var(--soft); font-size: 12px; letter-spacing: 0.04em; text-transform: uppercase; }
.boxes dd { margin: 0; overflow-wrap: anywhere; }
.rows { display: none; list-style: none; margin: 0 0 12px; padding: 0; font-size: 14px; }
.rows strong { font-weight: 500; }
.against, .checks { font-size: 14px; margin: 10px 0; max-width: none; }
.checks .bar { display: flex; height: 8px; margin-top: 6px; gap: 2px; }
.bar span { flex: 1 1 0; min-width: 6px; }
.bar .pass { background: var(--k2); } .bar .inform { background: var(--k5); }
.bar .warn { background: var(--k4); } .bar .refuse { background: var(--k1); }
.contents { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 13px; margin: 14px 0 18px; }
.note { color: var(--soft); font-size: 14px; }
a { color: var(--link); }
small { font-size: 13px; color: var(--soft); }
code, pre { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
code { overflow-wrap: anywhere; }
pre { overflow-x: auto; padding: 12px 14px; background: var(--faint); border-radius: 4px; }

dl { margin: 0 0 16px; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 4px 20px; font-size: 15px; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.answer { display: grid; grid-template-columns: 150px 1fr; gap: 10px 24px; }
.answer dt { font-weight: 650; line-height: 1.35; }
.answer dd, .definitions dd { margin: 0; max-width: 78ch; overflow-wrap: anywhere; }
.definitions { font-size: 15px; }
.definitions dt { font-weight: 600; margin-top: 10px; }
tr.refuses > *, tr.warns > * { background: var(--faint); }
tr.refuses > :nth-child(2) { font-weight: 600; color: var(--warn); }
.shade { display: block; margin: -6px -20px -6px 0; padding: 6px 20px 6px 8px; }
td:last-child .shade { margin-right: -4px; padding-right: 4px; }
.s0 { background: none; } .s1 { background: color-mix(in srgb, var(--k0) 7%, var(--paper)); }
.s2 { background: color-mix(in srgb, var(--k0) 14%, var(--paper)); }
.s3 { background: color-mix(in srgb, var(--k0) 21%, var(--paper)); }
.s4 { background: color-mix(in srgb, var(--k0) 30%, var(--paper)); font-weight: 650; }
.flag, .differs { color: var(--warn); }

/* The first column stays, and a shadow at an edge says that more lies behind it. */
.table { overflow-x: auto; margin: 0 0 12px; background:
  linear-gradient(to right, var(--paper) 30%, transparent) 0 0 / 40px 100% no-repeat local,
  linear-gradient(to left, var(--paper) 30%, transparent) 100% 0 / 40px 100% no-repeat local,
  linear-gradient(to right, var(--rule), transparent) 0 0 / 14px 100% no-repeat scroll,
  linear-gradient(to left, var(--rule), transparent) 100% 0 / 14px 100% no-repeat scroll; }
th:first-child { position: sticky; left: 0; background: var(--paper); }
table { border-collapse: collapse; font-size: 14px; min-width: 50%; }
th, td { padding: 6px 20px 6px 0; text-align: left; vertical-align: top; font-weight: 400;
    max-width: 420px; overflow-wrap: break-word; }
th:last-child, td:last-child { padding-right: 4px; }
#fairness td:last-child { max-width: 86ch; }
#fairness tbody th { min-width: 0; }
thead th { color: var(--soft); vertical-align: bottom; border-bottom: 1px solid var(--ink);
  line-height: 1.3; overflow-wrap: normal; }
tbody tr { border-bottom: 1px solid var(--rule); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td small, th small { display: block; line-height: 1.35; }
table:has(th:nth-child(8)) :is(th, td) { padding-right: 12px; font-size: 13px; }
.baseline { color: var(--soft); }
tbody th { min-width: 120px; }
tbody th code { white-space: nowrap; }
details { margin: 8px 0; }
summary { cursor: pointer; font-size: 15px; overflow-wrap: anywhere; }
details > .table, details > pre, details > .facts, details > .pair { margin-top: 10px; }

.legend { display: flex; flex-wrap: wrap; gap: 4px 22px; margin: 0 0 10px; padding: 0;
  list-style: none; font-size: 14px; }
.legend li { max-width: 100%; overflow-wrap: anywhere; }
.sample { width: 36px; height: 12px; vertical-align: -1px; margin-right: 3px; }
.swatch { width: 16px; height: 12px; vertical-align: -1px; margin-right: 3px; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr));
  gap: 20px 28px; align-items: start; margin-bottom: 14px; }
.many { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 270px), 1fr));
  gap: 14px 18px; align-items: start; margin-bottom: 14px; }
figure { margin: 0; min-width: 0; overflow-x: auto; }
figcaption { font-size: 12px; text-align: right; max-width: 560px; line-height: 1.3; }
figcaption a { color: var(--soft); }
/* A narrow window scrolls a drawing rather than let its smallest text, of 11, fall below 9. */
figure svg { display: block; width: 100%; height: auto; max-width: 560px;
  min-width: calc(var(--w) * 0.82px); }
figure.single { max-width: 520px; margin-bottom: 14px; }
figure.wide { max-width: 700px; margin-bottom: 14px; }
figure.wide svg, figure.wide figcaption { max-width: 700px; }
figure.full svg, figure.full figcaption { max-width: none; }

.zoom p { margin: 6px 0; font-size: 14px; color: var(--soft); }
.zoom .plot { width: 100%; height: 280px; }
.zoom .values { min-height: 44px; font-size: 13px; line-height: 1.4; }
.zoom .values > span { margin-right: 12px; }
.dygraph-axis-label { color: var(--soft); font-size: 12px; }

svg text { font-family: inherit; font-size: 12px; fill: var(--ink); }
svg .title { font-size: 13.5px; font-weight: 600; }
svg .tick, svg .label, svg .level-label, svg .small { fill: var(--soft); }
svg .small { font-size: 11px; }
svg .end-name { fill: var(--ink); }
svg .strong { font-weight: 650; fill: var(--ink); }
svg .mark { fill: var(--warn); }
.decoded dt { font-size: 14px; margin-top: 6px; }
.decoded dd { margin: 0 0 6px; white-space: pre-wrap; font-size: 14px; }
.decoded mark { background: var(--faint); color: inherit; text-decoration: underline;
  text-decoration-thickness: 2px; text-underline-offset: 3px; }
svg .rowname { font-size: 13px; }
svg .end { text-anchor: end; }
svg .middle { text-anchor: middle; }
svg .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.grid { stroke: var(--rule); stroke-width: 1; }
.plain-interval { stroke: var(--ink); stroke-width: 2; }
.axis { stroke: var(--soft); stroke-width: 1; }
.level { stroke: var(--soft); stroke-width: 1.25; stroke-dasharray: 1 3; stroke-linecap: round; }
.strip { fill: var(--faint); }
.mean { fill: none; stroke: var(--c); stroke-width: 2.25; stroke-linejoin: round; }
.seed { fill: none; stroke: var(--c); stroke-width: 1; opacity: 0.4; }
.line { fill: none; stroke: var(--c); stroke-width: 1.5; }
.plain { fill: none; stroke: var(--soft); stroke-width: 1.5; }
.band { fill: var(--c); fill-opacity: 0.11; stroke: none; }
.column { fill: var(--c); fill-opacity: 0.13; stroke: none; }
.bar { stroke-width: 1.25; }
.o-done { fill: var(--k0); stroke: var(--k0); } .o-diverged { fill: var(--k1); stroke: var(--k1); }
.o-failed { fill: var(--k3); stroke: var(--k3); }
.o-interrupted { fill: none; stroke: var(--k4); } .o-unknown { fill: none; stroke: var(--soft);
  stroke-dasharray: 3 2; }
.bar-end { fill: none; stroke: var(--ink); stroke-width: 2; }
.solid { fill: var(--ink); }
.dot { fill: var(--c); stroke: var(--paper); stroke-width: 1; }
.faint { fill: var(--soft); opacity: 0.55; }
.cross { fill: none; stroke: var(--c); stroke-width: 2; }
.ring { fill: none; stroke: var(--c); stroke-width: 1.5; }
.pair-line { fill: none; stroke: var(--soft); stroke-width: 1; opacity: 0.5; }
.interval { stroke: var(--c); stroke-width: 2; }
.average { stroke: var(--c); stroke-width: 3; }
.part { stroke: var(--paper); stroke-width: 1.5; }
.p0 { fill: var(--p0); } .p1 { fill: var(--p1); } .p2 { fill: var(--p2); }
.p3 { fill: var(--p3); } .p4 { fill: var(--p4); }
.c0 { --h: var(--k0); } .c1 { --h: var(--k1); } .c2 { --h: var(--k2); } .c3 { --h: var(--k3); }
.c4 { --h: var(--k4); } .c5 { --h: var(--k5); } .c6 { --h: var(--k6); }
.c0, .c1, .c2, .c3, .c4, .c5, .c6 { --c: var(--h); }
.l1 { --c: color-mix(in srgb, var(--h) 60%, var(--ink)); }
.l2 { --c: color-mix(in srgb, var(--h) 78%, var(--soft)); }

@media (max-width: 980px) { .opening { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 560px) {
  .rows { display: block; }
  h1 { font-size: 21px; }
  .answer { grid-template-columns: 1fr; gap: 2px; }
  .answer dt { margin-top: 10px; }
  main { padding: 20px 14px 60px; }
  .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: 8px; }
}
@media print {
  :root { --paper: #fff; --ink: #000; --soft: #444; --rule: #ccc; --faint: #f4f4f4; --link: #000;
    --warn: #7a3b00; --k0: #0072b2; --k1: #d55e00; --k2: #009e73; --k3: #b9558f; --k4: #b57b00;
    --k5: #3a9bd1; --k6: #000; --p0: #4d5b6b; --p1: #e69f00; --p2: #c3cad2;
  --p3: #8d9aa8; --p4: #f5d78f; }
  body { font-size: 11pt; }
  main { max-width: none; padding: 0; }
  h2, h3 { break-after: avoid; }
  figure, tr { break-inside: avoid; }
  figure { overflow: visible; }
  figure svg { min-width: 0; }
  .pair { grid-template-columns: 1fr 1fr; }
  .many { grid-template-columns: 1fr 1fr 1fr; }
  .table { overflow: visible; }
  table { font-size: 9pt; }
  details:not(.figures), details > summary, .contents, #runs { display: none; }
  details.figures::details-content { content-visibility: visible; block-size: auto; }
}
)";
}

}  // namespace draftlab
