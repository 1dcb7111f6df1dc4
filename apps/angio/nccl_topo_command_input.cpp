#include "nccl_topo_command_input.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/nccl_topology.hpp"

namespace angio::app::nccl_topo {
namespace {

constexpr std::string_view kOldest = "2.12";  // the first release the figures cover

report::TerminalStyle style(const Options& options) {
  return options.out == "-" ? terminal_style() : report::TerminalStyle{};
}

bool newer(const Options& options) {
  return options.nccl &&
         knowledge::compare_versions(*options.nccl, knowledge::newest_nccl_topology()).value_or(0) > 0;
}

}  // namespace

std::string release(const Options& options) {
  return options.nccl && !newer(options) ? *options.nccl : std::string(knowledge::newest_nccl_topology());
}

Result<void> check_release(const Options& options) {
  if (!options.nccl) return {};
  const auto order = knowledge::compare_versions(*options.nccl, kOldest);
  if (!order || !contains(*options.nccl, "."))
    return fail(ErrorCode::kInvalidInput, "--nccl \"" + printable(*options.nccl) + "\" is no version",
                "Write it like --nccl 2.28.9");
  if (*order < 0)
    return fail(ErrorCode::kUnsupported, "NCCL " + *options.nccl + " is not known",
                "Releases from " + std::string(kOldest) + " on are");
  return {};
}

std::string newer_note(const Options& options) {
  if (!newer(options)) return {};
  const std::string newest(knowledge::newest_nccl_topology());
  return "NCCL " + printable(*options.nccl) + " is newer than " + newest +
         ", the newest known; computed as " + newest;
}

void say_newer(const Options& options) {
  if (const std::string note = newer_note(options); !note.empty()) say("angio: " + note);
}

int fail_with(const Error& error) {
  report_error(error);
  return error.code == ErrorCode::kInvalidInput ? kUsage : kFailed;
}

int usage(const Error& error) {
  report_error(error);
  return kUsage;
}

int computed_nothing(const Error& error) {
  report_error(error);
  return kFailed;
}

int write(const Options& options, const std::string& text) {
  if (options.out == "-") return print(text);
  if (auto done = write_output(options.out, text); !done) return report_error(done.error());
  return kOk;
}

int show(const Options& options, const report::Document& document, const Json& json) {
  if (options.format == "json") return write(options, to_text(json) + "\n");
  return write(options, report::render_terminal(document, style(options)));
}

Result<Input> read_file(const std::string& path) {
  auto bytes = read_input(path);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  Input input;
  input.text = nccl::read_topology_xml(*bytes, input.remarks);
  for (nccl::Element& root : input.text.roots)
    if (input.root == nullptr && (root.name == "system" || root.name == "graphs")) input.root = &root;
  return input;
}

Error no_root(const std::string& path) {
  return {ErrorCode::kUnsupported, path + ": neither <system> nor <graphs> in it",
          "A topology file begins with <system version=\"1\">, a graph file with <graphs version=\"1\">"};
}

void say_if_broken(const std::string& path, const Input& input) {
  std::size_t errors = 0;
  for (const nccl::Remark& remark : input.remarks.all())
    if (remark.weight == nccl::Weight::kError) errors += remark.count;
  if (errors > 0)
    say("angio: " + printable(path) + ": NCCL would stop at it (" + count_of(errors, "error") +
        "): angio nccl-topo validate");
}

Result<void> check_topology_root(const std::string& path, const Input& input) {
  if (input.root == nullptr) return std::unexpected(no_root(path));
  if (input.root->name == "system") return {};
  return fail(ErrorCode::kUnsupported, path + ": a graph file, not a topology file",
              "Show it with angio nccl-topo graph");
}

Result<Input> read_topology(const std::string& path) {
  auto input = read_file(path);
  if (!input) return input;
  if (auto checked = check_topology_root(path, *input); !checked)
    return std::unexpected(std::move(checked.error()));
  say_if_broken(path, *input);
  return input;
}

}  // namespace angio::app::nccl_topo
