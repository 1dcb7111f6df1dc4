// The text of an NCCL topology or graph file as a tree that keeps order and places, and back. Reads on where
// NCCL's own parser stops, and says for each such place what NCCL does there and what to write instead.
// No meaning here: topology_check.hpp knows the elements, system_graph.hpp what they amount to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace angio::nccl {

struct TextPlace {
  std::uint32_t line = 0;  // from 1; 0: not from a file
  std::uint32_t column = 0;
};

struct Attribute {
  std::string name;
  std::string value;
  TextPlace place;
};

struct Element {
  std::string name;
  TextPlace place;
  std::vector<Attribute> attributes;  // in the order of the file
  std::vector<Element> children;

  [[nodiscard]] const std::string* find(std::string_view attribute) const;  // null when it is not there
  [[nodiscard]] std::string_view get(std::string_view attribute) const;     // "" when it is not there
  void set(std::string_view attribute, std::string_view value);             // in its place, or at the end
  bool remove(std::string_view attribute);
  [[nodiscard]] const Element* child(std::string_view element) const;  // the first of that name
};

enum class Weight : std::uint8_t {
  kNote,     // worth knowing
  kWarning,  // NCCL reads on, but not what was meant
  kError,    // NCCL refuses the file, or a part that matters is lost
};

// Something about one place of the file.
struct Remark {
  Weight weight = Weight::kNote;
  std::string id;  // "xml.prolog", "nvlink.target"
  TextPlace place;
  std::string text;  // what stands there
  std::string nccl;  // what NCCL does with it
  std::string instead;
  std::uint32_t count = 1;  // how many alike; the place is the first
};

// Collects remarks; from the 17th of one id on only the count grows, so that a broken file stays readable.
class Remarks {
 public:
  void add(Remark remark);
  [[nodiscard]] const std::vector<Remark>& all() const { return remarks_; }
  [[nodiscard]] std::vector<Remark> take() { return std::move(remarks_); }

 private:
  struct Kind {
    std::size_t kept = 0;
    std::size_t last = 0;  // in remarks_
  };
  std::vector<Remark> remarks_;
  std::map<std::string, Kind, std::less<>> kinds_;
};

struct XmlText {
  std::vector<Element> roots;
  std::size_t elements = 0;
};

// Takes any bytes. What NCCL of this release would trip over goes into remarks.
XmlText read_topology_xml(std::string_view text, Remarks& remarks);

// As NCCL dumps it: two blanks a level, attributes in their order, double quotes. Reading it back gives the
// same tree.
std::string write_topology_xml(const Element& root);

// What no attribute of such a file can hold: both kinds of quotes, or more characters than NCCL reads.
bool can_stand_in_attribute(std::string_view value);

// The longest value NCCL's parser takes: MAX_STR_LEN is 255 (src/graph/xml.h), and the closing quote and the
// end mark share it with the text.
inline constexpr std::size_t kLongestText = 253;
inline constexpr std::size_t kMostAttributes = 16;  // MAX_ATTR_COUNT, src/graph/xml.h

}  // namespace angio::nccl
