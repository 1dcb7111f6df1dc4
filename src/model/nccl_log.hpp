// What NCCL's (and RCCL's) debug logs of one job say, all ranks and all files merged: identities, what NCCL
// decided and how often, what failed. Facts only; verdicts live in diagnose. import/nccl_log fills it.
// Memory is bounded by processes, ranks, communicators and hosts, never by the length of the log: what
// repeats is counted once with the Source of its first line, and every list that input could blow up has a
// limit and a counter of what it left out. Numbers are as NCCL prints them, the unit in the member's comment.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "model/observed.hpp"

namespace angio::model {

// An index into one of the vectors of NcclLog.
using NcclIndex = std::uint32_t;
inline constexpr NcclIndex kNoNcclIndex = 0xffffffffU;

// ---------------------------------------------------------------- where it came from

struct NcclUnknownLine {
  std::string text;  // the message, printable, cut
  Source source;
};

struct NcclFile {
  std::string name;
  std::uint32_t place = 0;          // of NcclLog::places
  std::uint64_t bytes = 0;          // after decompression
  std::uint64_t lines = 0;          // of the file, NCCL's or not
  std::uint64_t nccl_lines = 0;     // with NCCL's own anchor
  std::uint64_t unknown_lines = 0;  // of those, not understood
  std::uint64_t glued_lines = 0;    // two NCCL lines on one: several processes wrote into one file
  std::uint64_t damaged_lines = 0;  // the anchor, but no readable envelope or a cut message
  bool gzip = false;
  bool gzip_cut = false;                 // the compressed stream ended early or was damaged: read up to there
  std::vector<NcclUnknownLine> unknown;  // the first few
};

// ---------------------------------------------------------------- processes

// Host, process id and the file tell processes apart; the host is as NCCL prints it, cut at its first dot.
struct NcclProcess {
  std::string host;  // empty: the line had no envelope ("NCCL INFO ..." pasted alone)
  std::uint32_t pid = 0;
  NcclIndex file = 0;  // of its first line
  Source first;
  Source last;  // of its last line in that file
  std::uint64_t lines = 0;
  std::uint64_t warn_lines = 0;
  std::uint32_t threads = 0;  // distinct thread ids seen, counted up to a limit
  std::optional<std::uint32_t>
      launcher_rank;  // from a prefix: "[rank3]:", "[1,3]<stdout>:", "3: " of srun -l
  std::optional<std::int64_t>
      first_time_us;  // since 1970, when the lines carry a time; the zone is not known
  std::optional<std::int64_t> last_time_us;

  std::string version;    // "2.28.9"; RCCL: its own number
  std::string built_for;  // "cuda13.0", "hip6.2"
  std::string git;        // 2.26+: "branch hash" as printed
  bool is_rccl = false;
  Source version_source;
  std::optional<std::uint32_t> cuda_driver;   // 13000 = CUDA 13.0 is the newest that the driver runs
  std::optional<std::uint32_t> cuda_runtime;  // printed by few versions
  std::string bootstrap_interface;            // "eth0"
  std::string bootstrap_address;              // "10.0.0.1<0>"
  Source bootstrap_source;
  std::optional<bool> dma_buf;  // "DMA-BUF is available on GPU device"
  Source dma_buf_source;
  std::string network;  // the last "Using network": "IB", "Socket", "AWS Libfabric"
  Source network_source;
  std::vector<NcclIndex> networks;  // of NcclLog::networks: every list of devices that it printed
};

// Every version that a line names. Old versions print it once, at rank 0 and without an envelope, and PyTorch
// repeats it in its exceptions: such a line tells that this version ran, not in which process.
struct NcclVersion {
  std::string version;
  std::string built_for;
  bool is_rccl = false;
  NcclIndex process = kNoNcclIndex;  // of the first line; kNoNcclIndex: the line names none
  Source source;
  std::uint64_t count = 0;
};

// One value that NCCL said it took from the environment, a configuration file or a plugin.
struct NcclSetting {
  std::string name;    // "NCCL_IB_HCA"
  std::string value;   // as printed, without the full stop that some versions put behind numbers
  std::string origin;  // "environment", "" when the line does not tell ("NCCL_X set to 1")
  Source source;
  std::uint64_t count = 0;
  std::vector<NcclIndex> processes;  // each once
};

// ---------------------------------------------------------------- networks and plugins

struct NcclNetDevice {
  std::uint32_t index = 0;  // NCCL's device number within its plugin
  std::string name;         // "mlx5_0", "eth0", "mlx5_0+mlx5_1"
  std::optional<std::uint32_t> port;
  std::string link;                  // "IB", "RoCE"; empty for sockets
  std::string address;               // sockets: "10.0.0.1<0>"
  std::optional<double> speed_mbps;  // 2.28+: 400000 = 400 Gb/s
  std::string provider;              // "None", "Mlx5"
  std::string pci_path;              // sysfs path
  std::optional<bool> adaptive_routing;
  std::optional<std::uint32_t> rail;       // 2.30+
  std::optional<std::uint32_t> plane;      // 2.30+
  std::optional<std::uint32_t> gid_index;  // RoCE, when a connection was made
  std::string gid;                         // its value as printed
  std::optional<std::uint32_t> mtu_bytes;
  std::optional<std::uint32_t> merged;  // virtual: the number of devices that it joins
  std::optional<bool> gdr;              // "GPU Direct RDMA Enabled|Disabled for HCA"
  std::string gdr_reason;               // "no module or not supported by GPU"; usually not said
  Source source;
  Source gdr_source;
};

// "NET/IB : Using ...": processes of one host that print the same list share one entry.
struct NcclNetwork {
  std::string host;
  std::string plugin;                          // "IB", "Socket", "gIB"
  std::vector<NcclNetDevice> devices;          // empty: "NET/IB : No device found."
  std::vector<NcclNetDevice> virtual_devices;  // "Made virtual device"
  bool none_found = false;
  std::optional<bool> relaxed_ordering;
  std::string oob_interface;
  std::string oob_address;
  Source source;
  std::uint32_t processes = 0;
};

enum class NcclPluginKind : std::uint8_t { kNet, kCollNet, kTuner, kProfiler, kEnv, kGin, kRma };
enum class NcclPluginOutcome : std::uint8_t {
  kNotFound,       // no such library: NCCL's own implementation is used
  kSymbolMissing,  // the library lacks the symbol of this interface version
  kLoaded,
  kInitialized,
  kFailed,     // its init failed
  kAssigned,   // 2.28+: serves this communicator
  kMentioned,  // only named: path, version, "Using non-device net plugin"
};

struct NcclPlugin {
  NcclPluginKind kind = NcclPluginKind::kNet;
  NcclPluginOutcome outcome = NcclPluginOutcome::kMentioned;
  std::string name;     // "IB", "AWS Libfabric"; the symbol or the library when nothing better is said
  std::string version;  // "v11", "1.9.1-aws"
  std::string text;     // the message, printable, cut
  Source source;
  std::uint64_t count = 0;
  std::vector<NcclIndex> processes;  // each once
};

// "GPU Direct RDMA Enabled for GPU 0 / HCA 1 (distance 4 <= 5), read 0 mode Default": per host, once a pair.
struct NcclGdrPair {
  std::string host;
  std::string gpu;  // as printed: CUDA ordinal (2.24+), or bus id
  std::string hca;  // number or name
  bool enabled = false;
  std::optional<int> distance;   // a path class of topology: its number depends on the version
  std::optional<int> threshold;  // the one that NCCL compared with
  std::optional<bool> read;      // sends read GPU memory too
  std::string reason;            // what stands in the parentheses when it is no distance
  Source source;
  std::uint64_t count = 0;
};

// ---------------------------------------------------------------- topology and graphs

enum class NcclTopologyOutcome : std::uint8_t { kNamed, kLoading, kUnnamed, kFailed };

struct NcclTopologyFile {
  std::string path;  // empty for "Loading unnamed topology"
  NcclTopologyOutcome outcome = NcclTopologyOutcome::kLoading;
  std::string error;  // kFailed: "No such file or directory"
  Source source;
  std::uint64_t count = 0;
  std::vector<NcclIndex> processes;
};

struct NcclSystemNode {
  std::uint32_t depth = 0;  // leading blanks of the tree line
  std::string link;         // "PCI", "NVL", "SYS", "NET"; empty for the root of a tree
  double bandwidth = 0;     // GB/s, as NCCL counts
  std::string name;         // "GPU/0-1b000"
  std::string detail;       // "(0)", "(1/1/2)"
};

struct NcclPathCell {
  std::string to;  // "GPU/0-43000"
  std::uint32_t hops = 0;
  double bandwidth = 0;  // GB/s
  std::string type;      // "NVL", "PXB", "SYS"
};

struct NcclPathRow {
  std::string from;
  std::vector<NcclPathCell> cells;
};

// "=== System : maxBw ... ===" and what follows: the first of each host that differs.
struct NcclSystem {
  std::string host;
  double max_bw = 0;    // GB/s
  double total_bw = 0;  // GB/s
  std::vector<NcclSystemNode> nodes;
  std::vector<NcclPathRow> paths;
  Source source;
  std::uint64_t count = 0;  // prints with the same figures on that host
};

// "Pattern 4, crossNic 0, nChannels 16, bw 45.0/45.0, type NVL/PXN, sameChannels 1". Equal ones of a
// communicator are one; pattern numbers: 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 NVLS, 6 CollNet
// direct.
struct NcclPattern {
  int pattern = 0;
  int cross_nic = 0;
  std::uint32_t channels = 0;
  double bw_intra = 0;  // GB/s
  double bw_inter = 0;  // GB/s
  std::string type_intra;
  std::string type_inter;
  bool same_channels = false;
  std::vector<std::string> chains;  // the " 0 : GPU/0 GPU/1" lines of its first print
  Source source;
  std::uint64_t count = 0;
};

struct NcclRing {
  std::uint32_t channel = 0;
  std::vector<std::uint32_t> order;  // ranks
  Source source;
};

// 2.4 to 2.7 print two trees a channel, "Trees [0] a->b->c/-1/-1|d->e->f/-1/-1": the second is not kept.
struct NcclTree {
  std::uint32_t channel = 0;
  std::array<int, 3> down{-1, -1, -1};
  int self = -1;
  int up = -1;
};

// ---------------------------------------------------------------- connections

enum class NcclTransport : std::uint8_t {
  kUnknown,
  kP2pDirect,    // one process, plain pointers
  kP2pIpc,       // cudaIpc handles
  kP2pCumem,     // cuMem handles
  kP2pIndirect,  // through a third GPU
  kP2pMnnvl,     // NVLink between hosts
  kP2pOther,
  kShm,  // through host memory
  kNet,
  kCollNet,
};

enum class NcclDirection : std::uint8_t { kNone, kSend, kReceive };

// One pair over one way, whatever the number of channels.
struct NcclConnection {
  NcclTransport transport = NcclTransport::kUnknown;
  NcclDirection direction = NcclDirection::kNone;  // stated by NET lines only
  std::uint32_t from = 0;                          // ranks of the communicator
  std::uint32_t to = 0;
  std::uint32_t connection = 0;  // 0 collective, 1 point to point
  bool gdr = false;
  bool gdr_pci = false;  // "GDRDMA(PCI)": data direct not used
  bool shared = false;
  bool read = false;
  std::optional<std::uint32_t> net_device;
  std::optional<std::uint32_t> proxy_rank;  // PXN: the rank whose NIC serves
  std::string net;                          // "IB", "Socket", "AWS Libfabric"
  std::string text;                         // behind "via"
  std::uint64_t channel_mask = 0;           // channels 0 to 63
  std::uint64_t count = 0;                  // lines
  Source source;
};

// All connections of a rank by way, so that no limit hides one: text is that of its first line.
struct NcclTransportCount {
  NcclTransport transport = NcclTransport::kUnknown;
  bool gdr = false;
  bool shared = false;
  bool proxied = false;  // PXN
  std::string net;
  std::optional<std::uint32_t> net_device;
  std::uint64_t count = 0;
  std::string text;
  Source source;
};

// ---------------------------------------------------------------- tuning and collectives

// One cell of the tuning table. Bandwidth 0: not possible or disabled.
struct NcclTuningCell {
  std::string function;   // "AllReduce"
  std::string algorithm;  // "Tree", "Ring", "NVLS"
  std::string protocol;   // "LL", "LL128", "Simple"
  double latency_us = 0;
  double bandwidth = 0;  // GB/s, of the algorithm
};

// What was chosen for a message, equal ones counted.
struct NcclChoice {
  std::string function;   // "AllReduce"; empty in 2.21 and older, whose line does not tell
  std::string algorithm;  // "RING"; of a numeric line: the name that this version gives the number
  std::string protocol;   // "LL128"
  std::string kernel;     // symmetric kernels
  bool symmetric = false;
  bool copy_engine = false;
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> channel_low;
  std::optional<std::uint32_t> channel_high;
  std::optional<double> time_us;  // 2.20 to 2.21: NCCL's own estimate
  Source source;
  std::uint64_t count = 0;
};

// A COLL line. Buffers and streams are left out.
struct NcclCall {
  std::uint64_t op_count = 0;
  std::string function;
  std::uint64_t count = 0;  // elements
  int datatype = 0;
  int op = 0;
  int root = 0;
  Source source;
  bool same_call(const NcclCall& other) const {
    return function == other.function && count == other.count && datatype == other.datatype &&
           op == other.op && root == other.root;
  }
};

// A run of successive calls: `hash` over function, count, datatype, op and root.
struct NcclCallBlock {
  std::uint64_t first_op = 0;
  std::uint64_t calls = 0;
  std::uint64_t hash = 0;
  Source source;  // of its first call
};

// Both as one run; the hash is that of their calls in order, however they were split.
NcclCallBlock join_blocks(const NcclCallBlock& first, const NcclCallBlock& second);
// The multiplier of that polynomial: any odd number, so that nothing is lost modulo 2^64.
inline constexpr std::uint64_t kNcclCallMultiplier = 0x5851f42d4c957f2dULL;
inline NcclCallBlock join_blocks(NcclCallBlock block, std::uint64_t call_hash) {
  ++block.calls;
  block.hash = block.hash * kNcclCallMultiplier + call_hash;
  return block;
}

// The calls of one rank on one communicator in constant memory: the first and the last in full, between them
// hashes of equal blocks, whose length doubles as the log grows. Send and Recv are counted, not compared.
struct NcclCalls {
  std::uint64_t collectives = 0;
  std::uint64_t point_to_point = 0;
  std::uint64_t block_length = 1;
  std::vector<NcclCall> first;        // up to 16
  std::vector<NcclCall> last;         // up to 32, in order
  std::vector<NcclCallBlock> blocks;  // up to 128
};

// ---------------------------------------------------------------- communicators and ranks

enum class NcclRankState : std::uint8_t { kUnknown, kStarted, kComplete, kDestroyed, kAborted };

struct NcclTiming {
  std::string name;  // "bootstrap"
  double seconds = 0;
};

struct NcclRank {
  std::optional<std::uint32_t> rank;  // missing: its lines were seen, never its number
  NcclIndex process = kNoNcclIndex;
  std::string address;   // "0x5581c0", within its process
  std::string function;  // "ncclCommInitRank"; empty in old versions
  std::optional<int> cuda_device;
  std::optional<int> nvml_device;
  std::string bus_id;             // as printed: "1b000"
  std::optional<PciAddress> gpu;  // of bus_id
  std::optional<std::uint32_t> local_rank;
  std::optional<std::uint32_t> local_ranks;
  NcclRankState state = NcclRankState::kUnknown;
  Source started;                      // line 0: not seen
  Source completed;                    // "Init COMPLETE"
  Source ended;                        // "Destroy COMPLETE", "Abort COMPLETE"
  std::optional<double> init_seconds;  // "Init timings", 2.22+
  std::vector<NcclTiming> init_parts;
  Source timing_source;
  std::string affinity;  // as printed
  Source affinity_source;

  std::optional<std::uint32_t> coll_channels;
  std::optional<std::uint32_t> collnet_channels;
  std::optional<std::uint32_t> nvls_channels;
  std::optional<std::uint32_t> p2p_channels;
  std::optional<std::uint32_t> p2p_channels_per_peer;
  Source channels_source;
  std::optional<bool> nvls;  // "NVLS multicast support is (not) available"
  Source nvls_source;
  std::optional<std::uint32_t> p2p_chunk_bytes;
  bool connected_rings = false;
  bool connected_trees = false;
  bool connected_nvls = false;
  std::optional<bool> ring_pxn;  // 2.24+: "use ring PXN 0 GDR 1"
  std::optional<bool> ring_gdr;
  Source rings_source;
  std::vector<NcclTree> trees;
  Source trees_source;
  std::vector<NcclTransportCount> transports;
  std::vector<NcclConnection> connections;  // up to 256
  std::uint64_t connections_left_out = 0;   // lines
  NcclCalls calls;
};

struct NcclCommunicator {
  std::string id;  // commId hash, "0x7d..."; empty before 2.18, where ranks are matched by size and order
  std::uint32_t nranks = 0;  // 0: only lines without it
  bool guessed = false;      // no commId: which ranks belong together is a guess
  std::optional<std::uint32_t> nodes;
  std::optional<std::uint32_t> local_ranks;  // of the rank that said so first
  std::optional<bool> mnnvl;
  Source nodes_source;
  std::string parent;  // address of the communicator it was split from, in the process of the first rank
  std::optional<std::int64_t> color;  // of the first rank seen
  std::optional<std::int64_t> key;
  Source first;
  std::vector<NcclRank> ranks;  // those whose lines are in the files, by number; those without a number last
  std::vector<NcclPattern> patterns;
  std::vector<NcclRing> rings;         // by channel; every rank that prints them prints the same
  std::vector<NcclTuningCell> tuning;  // of the rank that printed it first
  std::vector<std::pair<std::string, std::uint32_t>> max_threads;  // "Ring/Simple", 512
  Source tuning_source;
  std::string thread_thresholds;
  std::vector<NcclChoice> choices;     // up to 1024, by first appearance
  std::uint64_t choices_left_out = 0;  // lines
};

// ---------------------------------------------------------------- failures

// Order: the wanted cause before its echoes is not in it; see is_echo().
enum class NcclEventKind : std::uint8_t {
  kOtherWarning,      // a WARN that this list does not know
  kErrorChain,        // "file:line -> code": the trace of a failure back through NCCL's callers
  kDuplicateGpu,      // rank_a, rank_b
  kVersionMismatch,   // rank_a, rank_b
  kCudaFailure,       // number: the CUDA error when printed; text
  kSystemCall,        // "Call to X failed: text" that is none of the others
  kConnectRefused,    // connect to peer failed or is retried
  kConnectTimeout,    // retries used up
  kConnectionClosed,  // the peer closed: it failed earlier
  kConnectionReset,   // recv or send failed: reset, broken pipe
  kNoInterface,       // no socket interface found
  kNoSuchInterface,   // the one that was asked for
  kMessageTruncated,  // ranks in different steps of the bootstrap
  kWrongMagic,        // a stray connection, or other versions
  kBootstrapTimeout,
  kNameResolution,
  kQpCreate,         // ibv_create_qp; number: errno
  kRegisterMemory,   // ibv_reg_mr and kin; number: errno
  kQpModify,         // ibv_modify_qp; number: errno, gid_index, device, peer
  kVerbsCall,        // another ibv_ call; number: errno
  kCompletionError,  // status, opcode, vendor_error, peer, device
  kAsyncFatal,       // the adapter's fatal event
  kAsyncPort,        // port error, port down
  kAsyncOther,       // GID table changed and the like
  kNoIbDevice,       // asked for by name, not there
  kSharedMemory,     // /dev/shm; bytes, number: errno
  kHostMemory,       // malloc, mmap
  kNvls,             // multicast could not be bound
  kMnnvlImex,        // NVLink between hosts broken: IMEX
  kP2pDisabled,      // between NVLink-connected GPUs
  kNoTransport,      // rank_a, rank_b
  kPeerQuery,        // peer access could not be asked or set
  kNvml,             // libnvidia-ml missing or failing
  kNoPath,           // a graph pattern fell back to simple order
  kTopologyFile,     // could not be opened or parsed; path in text, number: errno
  kTopologyLimit,    // too many XML nodes
  kTopologyOther,    // contradictions of the file
  kInvalidArgument,  // wrong use of the API: counts, pointers, devices
  kInvalidSetting,   // an NCCL_ variable with a value that it does not understand
  kPlugin,           // a plugin complains
  kProxyEcho,        // "[Proxy Service 0] Failed to execute operation"
  kServiceThread,    // "[Service thread] Accept failed" and kin
  kRemoteError,      // "remote process exited or there was a network error"
  kAbort,            // a communicator was aborted
  kRasNotice,        // RAS could not listen or lost a peer
  kDriver,           // the CUDA driver is too old
  kCollnet,          // SHARP or another CollNet failed
  kCount
};

struct NcclEvent {
  NcclEventKind kind = NcclEventKind::kOtherWarning;
  NcclIndex process = kNoNcclIndex;  // equal lines of one process are one event
  bool is_warning = true;            // false: said at INFO level, or by a framework
  std::optional<int> cuda_device;    // of the thread that said so
  std::string location;              // NCCL's own "transport/net_ib.cc:1296"
  std::string function;              // 2.30+
  std::string text;                  // the message, printable, cut
  Source source;                     // the line of the log
  std::uint64_t count = 0;
  bool handled = false;       // NCCL goes on without: RAS, a network that is not there, a retry
  std::optional<int> result;  // ncclResult with which NCCL's callers passed it on, of the line that follows
  std::optional<std::int64_t> time_us;  // of the first line, when it carries a time

  std::optional<std::int64_t> number;  // errno or CUDA error; kErrorChain: ncclResult
  std::optional<int> status;           // ibv_wc_status
  std::optional<int> opcode;
  std::optional<std::uint32_t> vendor_error;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint32_t> gid_index;
  std::optional<std::uint32_t> rank_a;
  std::optional<std::uint32_t> rank_b;
  std::string peer;    // "10.0.0.2<33092>"
  std::string device;  // "mlx5_0", "mlx5_0:1"
  std::string local_gid;
  std::string remote_gid;
};

// A message that only tells that something failed elsewhere or before: never the cause.
bool is_echo(const NcclEvent& event);
// The words of the enumerator, for machine-readable output: "completion_error".
const char* name_of(NcclEventKind kind);
// The words that NCCL prints: "P2P/CUMEM", "NET", "SHM".
const char* name_of(NcclTransport transport);

// ---------------------------------------------------------------- the log

struct NcclLog {
  Places places;  // of every Source below: places.text(source) gives "rank0.log:12"
  std::vector<NcclFile> files;
  std::vector<NcclProcess> processes;  // by first appearance
  std::vector<NcclCommunicator> communicators;
  std::vector<NcclVersion> versions;  // each once
  std::vector<NcclSetting> settings;
  std::vector<NcclNetwork> networks;
  std::vector<NcclPlugin> plugins;
  std::vector<NcclGdrPair> gdr;
  std::vector<NcclTopologyFile> topology_files;
  std::vector<NcclSystem> systems;
  std::vector<NcclEvent> events;  // by file and line of their first appearance
  std::uint64_t events_left_out = 0;
  std::uint64_t left_out = 0;  // facts of all other kinds beyond their limits
  std::uint64_t info_lines = 0;
  std::uint64_t warn_lines = 0;
  std::uint64_t trace_lines = 0;      // TRACE and CALL: counted only
  bool memory_profile_lines = false;  // the ALLOC subsystem was on
};

// Names of the hosts in the log, and of the one that a rank runs on; empty: no line tells.
std::set<std::string> hosts_of(const NcclLog& log);
const std::string& host_of(const NcclLog& log, const NcclRank& rank);

// The event that came first in time where lines carry times of one day, otherwise per file by position: the
// earliest that is no echo, else the earliest at all. What NCCL handled does not count. Null: nothing failed.
const NcclEvent* find_earliest_failure(const NcclLog& log);

// The first call in which two ranks of one communicator differ.
struct NcclMismatch {
  NcclIndex communicator = 0;
  std::uint32_t rank_a = 0;
  std::uint32_t rank_b = 0;
  bool exact = false;  // a and b are the calls; otherwise they lie within the blocks
  NcclCall a;
  NcclCall b;
  std::uint64_t first_op = 0;  // !exact: the difference lies from this opCount
  std::uint64_t last_op = 0;   // to this one
};
std::optional<NcclMismatch> find_mismatch(const NcclLog& log, NcclIndex communicator);

// A rank that stopped calling earlier than the others: by its number of collectives.
struct NcclLaggard {
  std::uint32_t rank = 0;
  std::uint64_t collectives = 0;
  std::uint64_t others = 0;  // the most of any rank
  Source last_call;
};
std::vector<NcclLaggard> find_laggards(const NcclLog& log, NcclIndex communicator);

}  // namespace angio::model
