#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/statistics.h"

namespace draftlab {

// How arm number `look` is drawn: colour (class c0.. of the page's style), dashes and marker each
// repeat after a different count, so that arms differ also without colour.
std::string colour_class(size_t look);
std::string dash_pattern(size_t look);  // of stroke-dasharray; "" for a full line

// A scalable drawing as inline SVG. Coordinates in pixels, y downwards; texts are escaped here.
class Drawing {
 public:
  Drawing(std::string_view id, const std::string& title, const std::string& description,
          double width, double height);

  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  // Lines between the points; a NaN breaks the line.
  void path(const std::vector<Point>& points, std::string_view css_class,
            const std::string& dashes = "");
  void rectangle(double x, double y, double width, double height, std::string_view css_class);
  void circle(double x, double y, double radius, std::string_view css_class);
  // The marker of arm `look`; `tip` is shown when the mouse rests on it.
  void marker(size_t look, double x, double y, double size, const std::string& tip);
  void cross(size_t look, double x, double y, double size, const std::string& tip);
  void text(double x, double y, const std::string& text, std::string_view css_class);

  std::string svg() const;

 private:
  std::string body_;
};

// A short sample of how an arm is drawn, for legends.
std::string look_sample(size_t look);

}  // namespace draftlab
