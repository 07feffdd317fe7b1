#include "reports/charts/drawing.h"

#include <array>
#include <cmath>

#include "base/number_text.h"
#include "reports/text/html.h"
#include "reports/text/look.h"

namespace draftlab {
namespace {

std::string pixel(double value) { return number_text(std::round(value * 10) / 10); }

std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + pixel(value) + "\"";
}

std::string class_attribute(std::string_view css_class) {
  return " class=\"" + std::string(css_class) + "\"";
}

std::string polygon(double x, double y, const std::vector<Point>& corners) {
  std::string path = "<path d=\"";
  for (size_t i = 0; i < corners.size(); ++i) {
    path += (i == 0 ? "M" : "L") + pixel(x + corners[i].x) + " " + pixel(y + corners[i].y);
  }
  return path + "Z\"/>";
}

std::string marker_shape(size_t look, double x, double y, double size) {
  const double s = size;
  switch (look % 5) {
    case 0:
      return "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", s) + "/>";
    case 1: {
      const double h = 0.9 * s;
      return polygon(x, y, {{-h, -h}, {h, -h}, {h, h}, {-h, h}});
    }
    case 2:
      return polygon(x, y, {{0, -1.25 * s}, {1.15 * s, 0.85 * s}, {-1.15 * s, 0.85 * s}});
    case 3:
      return polygon(x, y, {{0, -1.35 * s}, {1.35 * s, 0}, {0, 1.35 * s}, {-1.35 * s, 0}});
    default:
      return polygon(x, y, {{0, 1.25 * s}, {1.15 * s, -0.85 * s}, {-1.15 * s, -0.85 * s}});
  }
}

std::string tipped(const std::string& shape, std::string_view css_class, const std::string& tip) {
  return "<g" + class_attribute(css_class) + "><title>" + escape(tip) + "</title>" + shape +
         "</g>\n";
}

}  // namespace

std::string colour_class(size_t look) {
  const size_t lightness = look / kHues % 3;
  return "c" + std::to_string(look % kHues) +
         (lightness == 0 ? "" : " l" + std::to_string(lightness));
}

std::string dash_pattern(size_t look) {
  static const std::array<const char*, 4> patterns = {"", "7 3", "2 3", "9 3 2 3"};
  return patterns[look % patterns.size()];
}

Drawing::Drawing(std::string_view id, const std::string& title, const std::string& description,
                 double width, double height)
    : id_(id) {
  const std::string& name = id_;
  body_ = "<svg id=\"" + name + "\" viewBox=\"0 0 " + pixel(width) + " " + pixel(height) +
          "\" style=\"--w:" + pixel(width) + "\" role=\"img\" aria-labelledby=\"" + name +
          "-title " + name + "-desc\">\n<title id=\"" + name + "-title\">" + escape(title) +
          "</title>\n<desc id=\"" + name + "-desc\">" + escape(description) + "</desc>\n";
}

Drawing Drawing::sample(double width, double height) {
  Drawing drawing;
  drawing.body_ = "<svg class=\"sample\" viewBox=\"0 0 " + pixel(width) + " " + pixel(height) +
                  "\" aria-hidden=\"true\">";
  return drawing;
}

void Drawing::begin_tip(const std::string& tip) {
  body_ += "<g><title>" + escape(tip) + "</title>\n";
}

void Drawing::end_tip() { body_ += "</g>\n"; }

void Drawing::line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  body_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
           attribute("y2", y2) + class_attribute(css_class) + "/>\n";
}

void Drawing::path(const std::vector<Point>& points, std::string_view css_class,
                   const std::string& dashes) {
  std::string path;
  bool pen_up = true;
  for (const Point& point : points) {
    const bool here = std::isfinite(point.x) && std::isfinite(point.y);
    if (here) path += (pen_up ? "M" : "L") + pixel(point.x) + " " + pixel(point.y);
    pen_up = !here;
  }
  if (path.empty()) return;
  body_ += "<path d=\"" + path + "\"" + class_attribute(css_class);
  if (!dashes.empty()) body_ += " stroke-dasharray=\"" + dashes + "\"";
  body_ += "/>\n";
}

void Drawing::area(const std::vector<Point>& low, const std::vector<Point>& high,
                   std::string_view css_class) {
  std::string path;
  for (size_t from = 0, to; from < low.size(); from = to + 1) {
    const auto here = [&](size_t i) {
      return std::isfinite(low[i].x) && std::isfinite(low[i].y) && std::isfinite(high[i].y);
    };
    for (to = from; to < low.size() && here(to);) ++to;
    if (to < from + 2) continue;
    for (size_t i = from; i < to; ++i)
      path += (i == from ? "M" : "L") + pixel(low[i].x) + " " + pixel(low[i].y);
    for (size_t i = to; i-- > from;) path += "L" + pixel(high[i].x) + " " + pixel(high[i].y);
    path += "Z";
  }
  if (!path.empty()) body_ += "<path d=\"" + path + "\"" + class_attribute(css_class) + "/>\n";
}

void Drawing::begin_clip(double x, double y, double width, double height) {
  const std::string name = id_ + "-clip-" + std::to_string(++clips_);
  body_ += "<clipPath id=\"" + name + "\"><rect" + attribute("x", x) + attribute("y", y) +
           attribute("width", width) + attribute("height", height) +
           "/></clipPath>\n<g clip-path=\"url(#" + name + ")\">\n";
}

void Drawing::end_clip() { body_ += "</g>\n"; }

void Drawing::rectangle(double x, double y, double width, double height,
                        std::string_view css_class) {
  body_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
           attribute("height", height) + class_attribute(css_class) + "/>\n";
}

void Drawing::circle(double x, double y, double radius, std::string_view css_class) {
  body_ += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius) +
           class_attribute(css_class) + "/>\n";
}

void Drawing::marker(size_t look, double x, double y, double size, const std::string& tip) {
  body_ += tipped(marker_shape(look, x, y, size), "dot " + colour_class(look), tip);
}

void Drawing::cross(size_t look, double x, double y, double size, const std::string& tip) {
  const std::string arms = "<path d=\"M" + pixel(x - size) + " " + pixel(y - size) + "L" +
                           pixel(x + size) + " " + pixel(y + size) + "M" + pixel(x - size) + " " +
                           pixel(y + size) + "L" + pixel(x + size) + " " + pixel(y - size) + "\"/>";
  body_ += tipped(arms, "cross " + colour_class(look), tip);
}

void Drawing::text(double x, double y, const std::string& text, std::string_view css_class) {
  body_ += "<text" + attribute("x", x) + attribute("y", y) + class_attribute(css_class) + ">" +
           escape(text) + "</text>\n";
}

std::string Drawing::svg() const { return body_ + "</svg>\n"; }

std::string look_sample(size_t look) {
  const std::string dashes = dash_pattern(look);
  return "<svg class=\"sample\" viewBox=\"0 0 36 12\" aria-hidden=\"true\"><path d=\"M1 6L35 6\" "
         "class=\"mean " +
         colour_class(look) + "\"" +
         (dashes.empty() ? "" : " stroke-dasharray=\"" + dashes + "\"") + "/><g class=\"dot " +
         colour_class(look) + "\">" + marker_shape(look, 18, 6, 4) + "</g></svg>";
}

}  // namespace draftlab
