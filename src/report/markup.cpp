#include "report/markup.hpp"

#include "base/text.hpp"

namespace angio::report {

std::string escape_markup(std::string_view text) {
  const std::string safe = printable(text);
  std::string escaped;
  escaped.reserve(safe.size());
  for (std::size_t i = 0; i < safe.size(); ++i) {
    switch (safe[i]) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += safe[i];
    }
    // U+FFFE and U+FFFF are well-formed UTF-8 but no characters of XML 1.0.
    if (escaped.ends_with("\xEF\xBF\xBE") || escaped.ends_with("\xEF\xBF\xBF")) {
      escaped.replace(escaped.size() - 3, 3, "?");
    }
  }
  return escaped;
}

std::string_view tone_class(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kStrong:
      return "strong";
    case Tone::kQuiet:
      return "quiet";
    case Tone::kGood:
      return "good";
    case Tone::kWarning:
      return "warning";
    case Tone::kCritical:
      return "critical";
    case Tone::kUnknown:
      return "unknown";
  }
  return "";
}

}  // namespace angio::report
