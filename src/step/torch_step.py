"""One rank of `angio bench step` in PyTorch: training steps of a given shape over groups of ranks, each step's time split
by what the rank did. Part of Angio, inside its binary; started by torchrun or another launcher, which sets RANK,
WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Its one argument is the JSON text of src/step/spec.cpp; what it writes is
described in src/step/rank_log.hpp. For torch 1.13 and later."""

import contextlib
import ctypes
import json
import os
import resource
import signal
import socket
import sys
import time
from datetime import timedelta

PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h
STARTED = time.time()


def die_with_parent():
    """A launcher that is killed leaves nobody behind."""
    parent = os.getppid()
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:
        os._exit(1)


die_with_parent()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Spec:
    def __init__(self, values):
        for name, value in values.items():
            setattr(self, name, Spec(value) if isinstance(value, dict) else value)


class Log:
    """Lines to the shared folder as they come, or kept for rank 0."""

    def __init__(self, spec, rank):
        self.path = os.path.join(spec.folder, f"rank-{rank}.jsonl") if spec.shared else None
        self.rank, self.lines = rank, []

    def fail(self, error):
        if not self.lines:
            self.add(angio_step_rank=1, rank=self.rank, ranks=int(os.environ.get("WORLD_SIZE", "0")), framework="torch",
                     version="torch " + torch.__version__)
        self.add(failure=f"{type(error).__name__}: {error}", time=time.time())

    def add(self, **values):
        line = json.dumps(values)
        self.lines.append(line)
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(line + "\n")


class Clock:
    """Points in time of the device that computes. On a GPU they are events of its stream: known after the step."""

    def __init__(self, cuda):
        self.cuda = cuda

    def mark(self):
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def span(self, begin, end):
        return begin.elapsed_time(end) if self.cuda else (end - begin) * 1e3


class Communication:
    """Every collective of the program goes through here: it can be left out, and waiting for it is timed."""

    def __init__(self, clock, device, backend):
        self.clock, self.device, self.backend = clock, device, backend
        self.enabled = True
        self.visible = True  # waits are seen; not inside a library of torch on a GPU
        self.phase = "forward"
        self.waits = []

    @contextlib.contextmanager
    def waiting(self):
        begin = self.clock.mark()
        yield
        self.waits.append((self.phase, begin, self.clock.mark()))

    def wait(self, works):
        with self.waiting():
            for work in works:
                if work is not None:
                    work.wait()

    def all_reduce(self, tensor, group):
        if self.enabled:
            self.wait([dist.all_reduce(tensor, group=group, async_op=True)])

    def all_to_all(self, tensor, group):
        result = torch.empty_like(tensor)
        if not self.enabled:
            return result.copy_(tensor)
        self.wait([dist.all_to_all_single(result, tensor, group=group, async_op=True)])
        return result

    def exchange(self, peer, send, receive):
        """With one neighbour of a pipeline; what is sent and what is received may be None."""
        if not self.enabled:
            return
        ops = []
        if send is not None:
            ops.append(dist.P2POp(dist.isend, send, peer))
        if receive is not None:
            ops.append(dist.P2POp(dist.irecv, receive, peer))
        if self.backend == "nccl":
            self.wait(dist.batch_isend_irecv(ops))
        else:
            self.wait([op.op(op.tensor, op.peer) for op in ops])


COMM = None  # made in main()


class Copy(torch.autograd.Function):
    """Into the shares of a tensor group: gradients are added up on the way back."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        COMM.all_reduce(grad, ctx.group)
        return grad, None


class Reduce(torch.autograd.Function):
    """Out of the shares of a tensor group."""

    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous()
        COMM.all_reduce(x, group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return COMM.all_to_all(x.contiguous(), group)

    @staticmethod
    def backward(ctx, grad):
        return COMM.all_to_all(grad.contiguous(), ctx.group), None


class FeedForward(nn.Module):
    def __init__(self, hidden, share):
        super().__init__()
        self.up = nn.Linear(hidden, 4 * hidden // share)
        self.down = nn.Linear(4 * hidden // share, hidden)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, spec, groups):
        super().__init__()
        hidden, share = spec.shape.hidden, spec.layout.tensor
        self.groups, self.experts, self.copies = groups, spec.layout.expert, spec.experts_a_token
        self.heads = spec.shape.heads // share
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden // share)
        self.out = nn.Linear(hidden // share, hidden)
        self.feed = FeedForward(hidden, share)
        for parameter in self.feed.parameters():
            parameter.of_expert = self.experts > 1

    def attention(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.reshape(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) / (q.shape[-1] ** 0.5)
            hidden = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
            y = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, -1))

    def shared(self, function, x):
        group = self.groups.get("tensor")
        return Reduce.apply(function(Copy.apply(x, group)), group) if group is not None else function(x)

    def mixture(self, x):
        """Every token to so many experts, each expert its equal part of them."""
        group, shape = self.groups["expert"], x.shape
        tokens = x.reshape(-1, shape[-1]).repeat(self.copies, 1)
        count = tokens.shape[0]
        missing = -count % self.experts
        if missing:
            tokens = F.pad(tokens, (0, 0, 0, missing))
        tokens = AllToAll.apply(tokens, group)
        tokens = AllToAll.apply(self.feed(tokens), group)[:count]
        return tokens.reshape(self.copies, -1, shape[-1]).mean(dim=0).reshape(shape)

    def forward(self, x):
        x = x + self.shared(self.attention, self.norm1(x))
        if self.experts > 1:
            return x + self.mixture(self.norm2(x))
        return x + self.shared(self.feed, self.norm2(x))


class Embedding(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.tokens = nn.Embedding(spec.shape.vocabulary, spec.shape.hidden)
        self.places = nn.Parameter(torch.zeros(spec.shape.sequence, spec.shape.hidden))

    def forward(self, x):
        return self.tokens(x) + self.places[:x.shape[1]]


class Head(nn.Module):
    def __init__(self, spec, weight):
        super().__init__()
        self.norm = nn.LayerNorm(spec.shape.hidden)
        self.words = nn.Linear(spec.shape.hidden, spec.shape.vocabulary, bias=False)
        if weight is not None:
            self.words.weight = weight

    def forward(self, x):
        return self.words(self.norm(x))


class Transformer(nn.Module):
    """The layers of one stage of the pipeline; all of them without one."""

    def __init__(self, spec, groups, stage):
        super().__init__()
        layout, layers = spec.layout, spec.shape.layers
        first, last = stage == 0, stage + 1 == layout.pipeline
        begin, end = layers * stage // layout.pipeline, layers * (stage + 1) // layout.pipeline
        units = [Embedding(spec)] if first else []
        units += [Block(spec, groups) for _ in range(begin, end)]
        if last:
            units.append(Head(spec, units[0].tokens.weight if first else None))
        self.units = nn.ModuleList(units)
        self.last = last

    def forward(self, x, target=None):
        for unit in self.units:
            x = unit(x)
        if not self.last:
            return x
        return F.cross_entropy(x.reshape(-1, x.shape[-1]), target.reshape(-1))


class Bottleneck(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        after = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, after, 1, bias=False), nn.BatchNorm2d(after))
        self.side = nn.Identity() if stride == 1 and before == after else nn.Sequential(
            nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        return F.relu(self.body(x) + self.side(x))


class Classes(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Linear(2048, 1000)

    def forward(self, x):
        return self.words(x.mean(dim=(2, 3)))


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        units = [nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                               nn.MaxPool2d(3, 2, 1))]
        before = 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for number in range(count):
                units.append(Bottleneck(before, width, stride if number == 0 else 1))
                before = 4 * width
        units.append(Classes())
        self.units = nn.ModuleList(units)
        self.last = True

    def forward(self, x, target=None):
        for unit in self.units:
            x = unit(x)
        return F.cross_entropy(x, target)


# ---------------------------------------------------------------- how gradients are added up


def accumulator_of(parameter):
    """The node that adds to parameter.grad: its hook runs once the gradient is whole."""
    return parameter.expand_as(parameter).grad_fn.next_functions[0][0]


class Wrapped:
    """A model under one way of data parallelism. run(last): the context of one forward and backward."""

    implementation = "no data parallelism"
    buckets = ()

    def __init__(self, model):
        self.model = model
        self.module = model

    def parameters(self):
        return self.model.parameters()

    def run(self, last):
        return contextlib.nullcontext()

    def finish(self):
        """After the last backward of a step."""

    def backward_ended(self):
        """At the end of each backward."""


class WithDdp(Wrapped):
    implementation = "DistributedDataParallel"

    def __init__(self, module, spec, group, cuda):
        wrapped = nn.parallel.DistributedDataParallel(
            module, process_group=group, bucket_cap_mb=spec.bucket / (1 << 20), broadcast_buffers=False,
            device_ids=[torch.cuda.current_device()] if cuda else None, gradient_as_bucket_view=True)
        super().__init__(wrapped)
        self.module = module
        self.size = dist.get_world_size(group)
        self.group = group
        self.ready = None
        self.sizes = []
        wrapped.register_comm_hook(None, self.hook)

    def hook(self, _, bucket):
        tensor = bucket.buffer()
        self.sizes.append(tensor.numel() * tensor.element_size())
        tensor.div_(self.size)
        future = dist.all_reduce(tensor, group=self.group, async_op=True).get_future()
        self.ready = COMM.clock.mark()  # of the last bucket: from here on backward only waits
        return future.then(lambda done: done.value()[0])

    def run(self, last):
        self.ready = None
        if last and COMM.enabled:
            self.sizes = []
            return contextlib.nullcontext()
        return self.model.no_sync()

    def backward_ended(self):
        if self.ready is not None:
            COMM.waits.append(("backward", self.ready, COMM.clock.mark()))
            self.buckets = tuple(self.sizes)


class OwnBuckets(Wrapped):
    """As DDP, for what DDP cannot do: micro-batches in flight, and experts whose gradients have groups of their own."""

    implementation = "own buckets, as DDP"

    def __init__(self, module, spec, groups):
        super().__init__(module)
        self.limits = (spec.first_bucket, spec.bucket)
        self.last, self.works = False, []
        for group, expert in ((groups.get("data"), False), (groups.get("expert_data"), True)):
            parameters = [p for p in module.parameters() if getattr(p, "of_expert", False) == expert]
            if group is not None and parameters:
                self.add(parameters[::-1], group)

    def add(self, parameters, group):
        bucket, size, limit = [], 0, self.limits[0]
        self.nodes = getattr(self, "nodes", [])
        for number, parameter in enumerate(parameters):
            bucket.append(parameter)
            size += parameter.numel() * parameter.element_size()
            if size >= limit or number + 1 == len(parameters):
                self.watch(bucket, group, size)
                bucket, size, limit = [], 0, self.limits[1]

    def watch(self, bucket, group, size):
        state = {"missing": len(bucket)}
        members = dist.get_world_size(group)

        def ready(*_):
            if not (self.last and COMM.enabled):
                return
            state["missing"] -= 1
            if state["missing"] == 0:
                state["missing"] = len(bucket)
                flat = torch.cat([p.grad.reshape(-1) for p in bucket]).div_(members)
                self.works.append((dist.all_reduce(flat, group=group, async_op=True), flat, bucket))

        for parameter in bucket:
            node = accumulator_of(parameter)
            node.register_hook(ready)
            self.nodes.append(node)
        self.buckets = (*self.buckets, size)

    def run(self, last):
        self.last = last
        return contextlib.nullcontext()

    def finish(self):
        COMM.wait([work for work, _, _ in self.works])
        for _, flat, bucket in self.works:
            for parameter, part in zip(bucket, flat.split([p.numel() for p in bucket])):
                parameter.grad.copy_(part.view_as(parameter))
        self.works = []


class OwnShards(Wrapped):
    """The traffic of FSDP where torch has none that works here: every layer's parameters are gathered ahead of its
    forward and backward, its gradients scattered after. The parameters stay whole in memory, so that is no FSDP's."""

    implementation = "own shards, the traffic of FSDP"

    def __init__(self, module, spec, group, notes):
        super().__init__(module)
        self.group, self.members = group, dist.get_world_size(group)
        self.units = list(module.units)
        self.owned = []
        seen = set()
        for unit in self.units:
            mine = [p for p in unit.parameters() if id(p) not in seen]
            seen.update(id(p) for p in mine)
            self.owned.append(mine)
        self.shards = [self.shard_of(parameters) for parameters in self.owned]
        self.gathers, self.scatters, self.missing = {}, [], [0] * len(self.units)
        self.scatter_works = self.can_scatter()
        if not self.scatter_works:
            notes.append("this backend has no ReduceScatter: AllReduce takes its place, with more to move")
        self.nodes = []
        for number, unit in enumerate(self.units):
            unit.register_forward_pre_hook(lambda *_, n=number: self.before_forward(n))
            unit.register_forward_hook(lambda _m, _i, output, n=number: self.after_forward(n, output))
            for parameter in self.owned[number]:
                node = accumulator_of(parameter)
                node.register_hook(lambda *_, n=number: self.gradient_ready(n))
                self.nodes.append(node)

    def shard_of(self, parameters):
        count = sum(p.numel() for p in parameters)
        return torch.zeros(-(-count // self.members), dtype=parameters[0].dtype, device=parameters[0].device)

    def can_scatter(self):
        shard = self.shards[0]
        try:
            dist.reduce_scatter(torch.zeros_like(shard), [torch.zeros_like(shard) for _ in range(self.members)], group=self.group)
            return True
        except (RuntimeError, NotImplementedError):
            return False

    def gather(self, number):
        if not COMM.enabled or not 0 <= number < len(self.units) or number in self.gathers:
            return
        shard = self.shards[number]
        parts = [torch.empty_like(shard) for _ in range(self.members)]
        self.gathers[number] = (dist.all_gather(parts, shard, group=self.group, async_op=True), parts)

    def gathered(self, number):
        self.gather(number)
        if number in self.gathers:
            work, _ = self.gathers.pop(number)
            COMM.wait([work])

    def before_forward(self, number):
        self.gathered(number)
        self.gather(number + 1)
        self.missing[number] = len(self.owned[number])

    def after_forward(self, number, output):
        if output.requires_grad:
            output.register_hook(lambda _: self.before_backward(number))

    def before_backward(self, number):
        COMM.phase = "backward"
        self.gathered(number)
        self.gather(number - 1)

    def gradient_ready(self, number):
        self.missing[number] -= 1
        if self.missing[number] > 0 or not COMM.enabled:
            return
        shard = self.shards[number]
        flat = torch.cat([p.grad.reshape(-1) for p in self.owned[number]])
        flat = F.pad(flat, (0, shard.numel() * self.members - flat.numel())).div_(self.members)
        if self.scatter_works:
            own = torch.empty_like(shard)
            work = dist.reduce_scatter(own, list(flat.chunk(self.members)), group=self.group, async_op=True)
        else:
            work = dist.all_reduce(flat, group=self.group, async_op=True)
        self.scatters.append((work, flat))

    def backward_ended(self):
        COMM.wait([work for work, _ in self.scatters])
        self.scatters.clear()
        self.gathers.clear()


class WithFsdp(Wrapped):
    implementation = "FullyShardedDataParallel"

    def __init__(self, module, group, device):
        from torch.distributed.fsdp import FullyShardedDataParallel
        from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
        import functools
        classes = {type(unit) for unit in module.units}
        options = {"use_orig_params": True} if torch.__version__.split(".")[0] != "1" else {}
        policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls=classes & {Block, Bottleneck})
        wrapped = FullyShardedDataParallel(
            module, process_group=group, auto_wrap_policy=policy, forward_prefetch=True, limit_all_gathers=True,
            device_id=device, **options)
        super().__init__(wrapped)
        self.module = wrapped


def fsdp_reason(group):
    """Why torch's own FSDP does not work here; empty: it does."""
    try:
        from torch.distributed.fsdp import FullyShardedDataParallel  # noqa: F401
    except Exception as error:  # noqa: BLE001: torch 1.13 on Python 3.11 raises ValueError
        return f"FSDP of torch {torch.__version__} does not load on Python {sys.version.split()[0]}: {error}".split("\n")[0]
    device = "cuda" if dist.get_backend(group) == "nccl" else "cpu"
    members = dist.get_world_size(group)
    try:
        one, all_of_them = torch.zeros(1, device=device), torch.zeros(members, device=device)
        dist.all_gather_into_tensor(all_of_them, one, group=group)
        dist.reduce_scatter_tensor(one, all_of_them, group=group)
    except Exception as error:  # noqa: BLE001
        return f"FSDP of torch {torch.__version__} needs collectives that {dist.get_backend(group)} lacks: {error}".split("\n")[0]
    return ""


def see_into_fsdp():
    """On a CPU FSDP's collectives block their caller, so timing the calls sees its waits."""
    for name in ("all_gather_into_tensor", "reduce_scatter_tensor", "all_reduce"):
        call = getattr(dist, name)

        def timed(*args, _call=call, **more):
            with COMM.waiting():
                return _call(*args, **more)
        setattr(dist, name, timed)


def wrap(module, spec, groups, cuda, notes):
    layout = spec.layout
    if layout.data == 1:
        return Wrapped(module)
    if layout.sharded:
        reason = fsdp_reason(groups["data"])
        if reason:
            notes.append(reason)
            return OwnShards(module, spec, groups["data"], notes)
        if cuda:
            COMM.visible = False
        else:
            see_into_fsdp()
        return WithFsdp(module, groups["data"], COMM.device)
    if layout.pipeline > 1 or layout.expert > 1:
        return OwnBuckets(module, spec, groups)
    return WithDdp(module, spec, groups["data"], cuda)


# ---------------------------------------------------------------- groups, data, steps


def make_groups(layout, rank):
    """As src/step/groups.cpp: every rank makes all groups in the same order."""
    def at(data, tensor, stage):
        return (stage * layout.data + data) * layout.tensor + tensor

    lists = []
    for stage in range(layout.pipeline):
        for share in range(layout.tensor):
            every = [at(data, share, stage) for data in range(layout.data)]
            if layout.expert > 1:
                lists += [("expert", every[i:i + layout.expert]) for i in range(0, layout.data, layout.expert)]
                lists += [("expert_data", every[i::layout.expert]) for i in range(layout.expert)]
            lists.append(("data", every))
    for stage in range(layout.pipeline):
        for data in range(layout.data):
            lists.append(("tensor", [at(data, share, stage) for share in range(layout.tensor)]))
    groups = {}
    for kind, ranks in lists:
        if len(ranks) > 1:
            group = dist.new_group(ranks)
            if rank in ranks:
                groups[kind] = group
    return groups


class Batches(torch.utils.data.Dataset):
    def __init__(self, spec, count):
        self.spec, self.count = spec, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index >= self.count:
            raise IndexError(index)
        time.sleep(self.spec.loader.ms / 1e3)
        shape, batch = self.spec.shape, self.spec.batch
        generator = torch.Generator().manual_seed(index)
        if not shape.transformer:
            return (torch.rand(batch, 3, shape.image, shape.image, generator=generator),
                    torch.randint(1000, (batch,), generator=generator))
        tokens = torch.randint(shape.vocabulary, (batch, shape.sequence + 1), generator=generator)
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def worker_begins(_):
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def batches(spec, count, cuda):
    loader, more = spec.loader, {}
    if loader.workers > 0:
        more = {"prefetch_factor": max(1, loader.prefetch), "worker_init_fn": worker_begins}
    data = torch.utils.data.DataLoader(Batches(spec, count), batch_size=None, num_workers=loader.workers, pin_memory=cuda, **more)
    return iter(data)


class Stepper:
    def __init__(self, spec, wrapped, stage, rank, device, clock, loader):
        self.spec, self.wrapped, self.stage, self.rank = spec, wrapped, stage, rank
        self.device, self.clock, self.loader = device, clock, loader
        self.factor = spec.slow_factor if getattr(spec, "slow_rank", None) == rank else 1.0
        adam = spec.shape.transformer
        self.optimizer = (torch.optim.AdamW(wrapped.parameters(), lr=1e-4) if adam else
                          torch.optim.SGD(wrapped.parameters(), lr=0.01, momentum=0.9))
        self.spans = {}
        self.last_compute = 0.0
        self.type = {"bfloat16": torch.bfloat16, "half": torch.float16}.get(spec.type)
        self.neighbour = spec.layout.data * spec.layout.tensor  # ranks between two stages

    @contextlib.contextmanager
    def phase(self, name):
        COMM.phase = name
        begin = self.clock.mark()
        yield
        self.spans.setdefault(name, []).append((begin, self.clock.mark()))

    def forward(self, x, target, last):
        with self.phase("forward"), self.wrapped.run(last):
            with torch.autocast(self.device.type, dtype=self.type) if self.type else contextlib.nullcontext():
                y = self.wrapped.model(x, target)
        return y

    def backward(self, y, grad, last):
        with self.phase("backward"), self.wrapped.run(last) if self.spec.layout.pipeline > 1 else contextlib.nullcontext():
            y.backward(grad) if grad is not None else (y / self.spec.layout.micro_batches).backward()
            self.wrapped.backward_ended()

    def plain(self, x, target):
        count = self.spec.layout.micro_batches
        for number, (part, goal) in enumerate(zip(x.chunk(count), target.chunk(count))):
            last = number + 1 == count
            y = self.forward(part, goal, last)
            if number == 0:
                self.be_slow()
            self.backward(y, None, last)

    def be_slow(self):
        """Plants a slow rank: it computes longer, before it begins to communicate."""
        if self.factor > 1:
            with self.phase("forward"):
                time.sleep((self.factor - 1) * self.last_compute / 1e3)

    # One forward, one backward, as src/step/pipeline.cpp.
    def pipeline(self, x, target):
        stages, count = self.spec.layout.pipeline, self.spec.layout.micro_batches
        xs, goals = x.chunk(count), target.chunk(count)
        first, last = self.stage == 0, self.stage + 1 == stages
        warm_up = min(stages - self.stage - 1, count)
        waiting, state = [], {"forward": 0, "backward": 0, "input": None, "grad": None}
        shape = (xs[0].shape[0], self.spec.shape.sequence, self.spec.shape.hidden)

        def exchange(with_next, send, receive):
            if (with_next and last) or (not with_next and first) or (send is None and not receive):
                return
            COMM.phase = "backward" if (with_next and receive) or (not with_next and send is not None) else "forward"
            place = torch.zeros(shape, device=self.device) if receive else None
            peer = self.rank + (self.neighbour if with_next else -self.neighbour)
            with self.phase(COMM.phase):
                COMM.exchange(peer, send.detach().float().contiguous() if send is not None else None, place)
            if receive and with_next:
                state["grad"] = place
            elif receive:
                state["input"] = place.requires_grad_()

        def forward():
            number = state["forward"]
            state["forward"] += 1
            given = xs[number] if first else state["input"]
            result = self.forward(given, goals[number], number + 1 == count)
            if number == 0:
                self.be_slow()
            waiting.append((given, result))
            return result

        def backward():
            state["backward"] += 1
            given, result = waiting.pop(0)
            self.backward(result, None if last else state["grad"].to(result.dtype), state["backward"] == count)
            if first:
                return None
            return given.grad

        for _ in range(warm_up):
            exchange(False, None, True)
            exchange(True, forward(), False)
        if count > warm_up:
            exchange(False, None, True)
        for number in range(count - warm_up):
            result = forward()
            exchange(True, result, True)
            exchange(False, backward(), number + 1 < count - warm_up)
        for _ in range(warm_up):
            exchange(True, None, True)
            exchange(False, backward(), False)

    def step(self, communication):
        COMM.enabled, COMM.waits, self.spans = communication, [], {}
        begin = time.perf_counter()
        x, target = next(self.loader)
        x, target = x.to(self.device, non_blocking=True), target.to(self.device, non_blocking=True)
        loaded = time.perf_counter()
        if self.spec.layout.pipeline > 1:
            self.pipeline(x, target)
        else:
            self.plain(x, target)
        with self.phase("backward"):
            self.wrapped.finish()
        with self.phase("optimizer"):
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        if self.clock.cuda:
            torch.cuda.synchronize()
        return self.split((time.perf_counter() - begin) * 1e3, (loaded - begin) * 1e3, communication)

    def split(self, step, waited, communication):
        total = {"forward": 0.0, "backward": 0.0, "optimizer": 0.0}
        for name, spans in self.spans.items():
            total[name] += sum(self.clock.span(*span) for span in spans)
        exposed = 0.0
        for name, *span in COMM.waits:
            length = self.clock.span(*span)
            exposed += length
            total[name] = max(0.0, total[name] - length)
        self.last_compute = sum(total.values())
        if self.factor > 1:
            self.last_compute /= self.factor
        result = {"communication": communication, "step_ms": step, "input_ms": waited, "forward_ms": total["forward"],
                  "backward_ms": total["backward"], "optimizer_ms": total["optimizer"]}
        if COMM.visible or not communication:
            result["exposed_ms"] = exposed
        return result


def meet(device):
    """All ranks begin what follows together."""
    dist.all_reduce(torch.zeros(1, device=device))
    if device.type == "cuda":
        torch.cuda.synchronize()


def set_threads():
    cpus = len(os.sched_getaffinity(0))
    local = int(os.environ.get("LOCAL_WORLD_SIZE", os.environ.get("WORLD_SIZE", "1")))
    torch.set_num_threads(max(1, cpus // max(1, local)))


def describe(spec, wrapped, rank, local, device, notes):
    module = wrapped.module
    return {
        "angio_step_rank": 1, "rank": rank, "local_rank": local, "ranks": dist.get_world_size(), "host": socket.gethostname(),
        "pid": os.getpid(), "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "",
        "framework": "torch", "implementation": wrapped.implementation, "version": "torch " + torch.__version__,
        "backend": dist.get_backend(), "start_seconds": time.time() - STARTED, "buckets": list(wrapped.buckets),
        "parameters": 0 if spec.layout.pipeline * spec.layout.tensor > 1 or "FSDP" in wrapped.implementation
                      else sum(p.numel() for p in module.parameters()),
        "notes": notes}


def run(spec, log, rank, local, device):
    global COMM
    cuda = device.type == "cuda"
    notes = []
    clock = Clock(cuda)
    COMM = Communication(clock, device, dist.get_backend())
    groups = make_groups(spec.layout, rank)
    stage = rank // (spec.layout.data * spec.layout.tensor)
    torch.manual_seed(1)
    module = (Transformer(spec, groups, stage) if spec.shape.transformer else ResNet50()).to(device)
    wrapped = wrap(module, spec, groups, cuda, notes)
    compare = spec.compare
    if compare and isinstance(wrapped, WithFsdp):
        compare = False
        notes.append("FSDP of torch cannot leave its communication out: no comparison without")
    count = spec.warm_up + spec.steps * (2 if compare else 1)
    stepper = Stepper(spec, wrapped, stage, rank, device, clock, batches(spec, count, cuda))
    for _ in range(spec.warm_up):
        stepper.step(True)
    meet(device)
    log.add(**describe(spec, wrapped, rank, local, device, notes))
    for _ in range(spec.steps):
        for communication in (True, False) if compare else (True,):
            if compare:
                meet(device)
            log.add(**stepper.step(communication))
    memory = torch.cuda.max_memory_allocated(device) if cuda else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    log.add(end=True, memory_bytes=memory)


def hand_over(spec, log, rank):
    """Ranks of other hosts cannot reach the folder: rank 0 puts down what all say."""
    if spec.shared:
        return
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, "\n".join(log.lines))
    if rank == 0:
        with open(os.path.join(spec.folder, "ranks.jsonl"), "w", encoding="utf-8") as file:
            file.write("\n".join(everybody) + "\n")


def main():
    spec = Spec(json.loads(sys.argv[1]))
    rank, local = int(os.environ["RANK"]), int(os.environ.get("LOCAL_RANK", "0"))
    log = Log(spec, rank)
    try:
        backend = spec.backend
        if not backend:
            enough = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
            backend = "nccl" if enough else "gloo"
        if backend == "nccl":
            torch.cuda.set_device(local % max(1, torch.cuda.device_count()))
            device = torch.device("cuda", torch.cuda.current_device())
        else:
            device = torch.device("cpu")
            set_threads()
        dist.init_process_group(backend, timeout=timedelta(minutes=10))
        run(spec, log, rank, local, device)
        hand_over(spec, log, rank)
        dist.barrier()
    except Exception as error:  # noqa: BLE001: angio words it
        log.fail(error)
        raise
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
