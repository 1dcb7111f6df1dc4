#include "model/observed.hpp"

namespace angio::model {

std::string Places::text(const Source& source) const {
  if (source.place >= texts_.size()) return texts_.front();
  const std::string& place = texts_[source.place];
  if (source.line > 0) return place + ":" + std::to_string(source.line);
  const std::string leaf = source.leaf;
  if (leaf.empty()) return place;
  return place.ends_with('/') ? place + leaf : place + joints_[source.place] + leaf;
}

}  // namespace angio::model
