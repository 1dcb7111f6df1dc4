#include "model/observed.hpp"

namespace angio::model {

std::string Places::text(const Source& source) const {
  const std::string& place = source.place < texts_.size() ? texts_[source.place] : texts_.front();
  if (source.line > 0) return place + ":" + std::to_string(source.line);
  const std::string leaf = source.leaf;
  if (leaf.empty()) return place;
  return place.ends_with('/') ? place + leaf : place + "/" + leaf;
}

}  // namespace angio::model
