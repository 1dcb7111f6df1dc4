#include "mpi_call.hpp"

#include <fmt/format.h>

#include <array>

#include "../backends/elements.hpp"
#include "base/text.hpp"

namespace angio::mpi {
namespace {

using collective::Element;
using collective::Reduction;

bool is_short_float(Element element) {
  return element == Element::kHalf || element == Element::kBfloat16;
}

MPI_Datatype plain_type(Element element) {
  switch (element) {
    case Element::kInt8:
      return MPI_INT8_T;
    case Element::kUint8:
      return MPI_UINT8_T;
    case Element::kInt32:
      return MPI_INT32_T;
    case Element::kUint32:
      return MPI_UINT32_T;
    case Element::kInt64:
      return MPI_INT64_T;
    case Element::kUint64:
      return MPI_UINT64_T;
    case Element::kDouble:
      return MPI_DOUBLE;
    default:
      return MPI_FLOAT;
  }
}

MPI_Op plain_operation(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProduct:
      return MPI_PROD;
    case Reduction::kMinimum:
      return MPI_MIN;
    case Reduction::kMaximum:
      return MPI_MAX;
    default:
      return MPI_SUM;
  }
}

template <Element kElement, Reduction kReduction>
void combine(void* in, void* both, int* count, MPI_Datatype*) {
  backend::combine_of(kElement, kReduction)(both, in, both, static_cast<std::size_t>(*count));
}

template <Element kElement>
MPI_User_function* function_for(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProduct:
      return combine<kElement, Reduction::kProduct>;
    case Reduction::kMinimum:
      return combine<kElement, Reduction::kMinimum>;
    case Reduction::kMaximum:
      return combine<kElement, Reduction::kMaximum>;
    default:
      return combine<kElement, Reduction::kSum>;
  }
}

}  // namespace

Result<void> checked(int code, std::string_view what) {
  if (code == MPI_SUCCESS) [[likely]]
    return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  const std::string words = length > 0
                                ? printable(std::string_view(text.data(), static_cast<std::size_t>(length)))
                                : fmt::format("error {}", code);
  return fail(ErrorCode::kIo, fmt::format("{}: {}", what, words));
}

Types::~Types() {
  for (auto& [key, operation] : operations_)
    MPI_Op_free(&operation);
  for (auto& [size, type] : blocks_)
    MPI_Type_free(&type);
  if (two_bytes_ != MPI_DATATYPE_NULL) MPI_Type_free(&two_bytes_);
}

Result<MPI_Datatype> Types::type_of(Element element) {
  if (!is_short_float(element)) return plain_type(element);
  if (two_bytes_ != MPI_DATATYPE_NULL) return two_bytes_;
  if (auto made = checked(MPI_Type_contiguous(2, MPI_BYTE, &two_bytes_), "MPI_Type_contiguous"); !made)
    return std::unexpected(made.error());
  if (auto done = checked(MPI_Type_commit(&two_bytes_), "MPI_Type_commit"); !done)
    return std::unexpected(done.error());
  return two_bytes_;
}

Result<MPI_Op> Types::operation_of(Element element, Reduction reduction) {
  if (!is_short_float(element)) return plain_operation(reduction);
  const auto found = operations_.find({element, reduction});
  if (found != operations_.end()) return found->second;
  MPI_Op operation = MPI_OP_NULL;
  MPI_User_function* const function = element == Element::kHalf ? function_for<Element::kHalf>(reduction)
                                                                : function_for<Element::kBfloat16>(reduction);
  if (auto made = checked(MPI_Op_create(function, 1, &operation), "MPI_Op_create"); !made)
    return std::unexpected(made.error());
  operations_.emplace(std::pair(element, reduction), operation);
  return operation;
}

Result<MPI_Datatype> Types::block_of(std::uint64_t bytes) {
  const auto found = blocks_.find(bytes);
  if (found != blocks_.end()) return found->second;
  constexpr int kPiece = 1 << 30;
  const auto pieces = static_cast<int>(bytes / kPiece);
  const auto rest = static_cast<int>(bytes % kPiece);
  MPI_Datatype piece = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Result<void> done = checked(MPI_Type_contiguous(kPiece, MPI_BYTE, &piece), "MPI_Type_contiguous");
  if (done) {
    std::array<int, 2> counts{pieces, rest};
    std::array<MPI_Aint, 2> places{0, MPI_Aint{pieces} * kPiece};
    std::array<MPI_Datatype, 2> types{piece, MPI_BYTE};
    done = checked(MPI_Type_create_struct(2, counts.data(), places.data(), types.data(), &type),
                   "MPI_Type_create_struct");
    MPI_Type_free(&piece);
  }
  if (done) done = checked(MPI_Type_commit(&type), "MPI_Type_commit");
  if (!done) return std::unexpected(done.error());
  blocks_.emplace(bytes, type);
  return type;
}

}  // namespace angio::mpi
