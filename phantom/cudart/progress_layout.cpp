#include "cudart/progress_layout.hpp"

#include "cudart/progress_layout_profile.hpp"

namespace angio::phantom {

const Layout* find_layout(int version) {
  using namespace layouts;
  static constexpr Layout kLayouts[] = {v18::kLayout, v19::kLayout, v20::kLayout, v21::kLayout,
                                        v22::kLayout, v23::kLayout, v25::kLayout, v26::kLayout,
                                        v27::kLayout, v29::kLayout, v30::kLayout, v31::kLayout};
  for (const Layout& layout : kLayouts) {
    if (version >= layout.first && version <= layout.last) {
      return &layout;
    }
  }
  return nullptr;
}

}  // namespace angio::phantom
