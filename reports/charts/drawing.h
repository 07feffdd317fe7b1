#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/stats/statistics.h"

namespace draftlab {

// How `look` (reports/text/look.h) is drawn: hue and lightness (classes c0.. and l1.. of the page's
// style), dashes and marker.
std::string colour_class(size_t look);
std::string dash_pattern(size_t look);  // of stroke-dasharray; "" for a full line

// A scalable drawing as inline SVG. Coordinates in pixels, y downwards; texts are escaped here.
class Drawing {
 public:
  Drawing(std::string_view id, const std::string& title, const std::string& description,
          double width, double height);
  // A small one without a title, for legends.
  static Drawing sample(double width, double height);

  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  // Lines between the points; a NaN breaks the line.
  void path(const std::vector<Point>& points, std::string_view css_class,
            const std::string& dashes = "");
  // Between two lines over the same x; where either has a NaN there is none.
  void area(const std::vector<Point>& low, const std::vector<Point>& high,
            std::string_view css_class);
  // What is drawn until end_clip() shows inside of this rectangle only.
  void begin_clip(double x, double y, double width, double height);
  void end_clip();
  // `tip` is shown when the mouse rests on what is drawn until end_tip().
  void begin_tip(const std::string& tip);
  void end_tip();
  void rectangle(double x, double y, double width, double height, std::string_view css_class);
  void circle(double x, double y, double radius, std::string_view css_class);
  // The marker of arm `look`; `tip` is shown when the mouse rests on it.
  void marker(size_t look, double x, double y, double size, const std::string& tip);
  void cross(size_t look, double x, double y, double size, const std::string& tip);
  void text(double x, double y, const std::string& text, std::string_view css_class);

  std::string svg() const;

 private:
  Drawing() = default;

  std::string id_, body_;
  int clips_ = 0;
};

// A short sample of how an arm is drawn, for legends.
std::string look_sample(size_t look);

}  // namespace draftlab
