#include "views/nccl_log_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/cpu_set.hpp"
#include "base/text.hpp"

namespace angio::views {

std::string rank_list(const std::set<std::uint32_t>& ranks) {
  CpuSet set;
  for (const std::uint32_t rank : ranks)
    set.insert(rank);
  return to_list(set);
}

std::string short_list(const std::vector<std::string>& items, std::size_t shown) {
  if (items.size() <= shown + 1) return join(items, ", ");
  const std::vector<std::string> first(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(shown));
  return fmt::format("{} and {} more", join(first, ", "), items.size() - shown);
}

const model::NcclCommunicator* world_of(const model::NcclLog& log) {
  const auto largest = std::ranges::max_element(log.communicators, {}, &model::NcclCommunicator::nranks);
  return largest == log.communicators.end() ? nullptr : &*largest;
}

std::string short_place(const std::string& place) {
  const std::size_t slash = place.rfind('/');
  return slash == std::string::npos ? place : place.substr(slash + 1);
}

namespace {

template <typename Way>
std::string words_of(const Way& way) {
  std::string text = model::name_of(way.transport);
  if (way.transport != model::NcclTransport::kNet && way.transport != model::NcclTransport::kCollNet)
    return text;
  if (!way.net.empty()) text += "/" + way.net;
  if (way.gdr) text += ", GPUDirect";
  return text;
}

}  // namespace

std::string way_of(const model::NcclTransportCount& count) {
  return words_of(count) + (count.proxied ? ", PXN" : "");
}

std::string way_of(const model::NcclConnection& connection) {
  return words_of(connection) + (connection.proxy_rank ? ", PXN" : "");
}

}  // namespace angio::views
