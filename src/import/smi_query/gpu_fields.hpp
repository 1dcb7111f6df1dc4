// Which field of `nvidia-smi -q` is which member of a Gpu, and which fields are known but not kept.
#pragma once

#include "import/draft.hpp"
#include "import/smi_query/field.hpp"

namespace angio::import::smi_query {

// False when the field is neither kept nor known to be left out.
bool take_gpu_field(Draft& draft, const Field& field, model::Gpu& gpu);

}  // namespace angio::import::smi_query
