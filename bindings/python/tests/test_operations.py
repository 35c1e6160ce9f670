"""Every operation: against gloo's results where gloo has it, else against what it must give."""

import unittest

import torch
import torch.distributed as dist

from ranks import run


def filled(rank, count, dtype=torch.float32):
    # Small whole numbers: sums are exact in every type and every order.
    return ((torch.arange(count) * 7 + rank * 3) % 11).to(dtype)


def shared_operations(rank, size):
    """What both back ends do, as lists by name."""
    out = {}

    def keep(name, *tensors):
        out[name] = [t.to(torch.float64).tolist() for t in tensors]

    for dtype in (torch.float32, torch.float64, torch.float16, torch.int32, torch.int64,
                  torch.uint8):
        for word in ("SUM", "MIN", "MAX"):
            data = filled(rank, 1001, dtype)
            dist.all_reduce(data, op=getattr(dist.ReduceOp, word))
            keep(f"all_reduce {dtype} {word}", data)
    data = filled(rank, 12).view(3, 4).t()  # not contiguous
    dist.all_reduce(data)
    keep("all_reduce, not contiguous", data)
    data = filled(rank, 70000)
    work = dist.all_reduce(data, async_op=True)
    keep("future", work.get_future().then(lambda f: f.value()[0] * 2).wait())
    for root in range(size):
        data = filled(rank, 33)
        dist.broadcast(data, root)
        keep(f"broadcast {root}", data)
        data = filled(rank, 33)
        dist.reduce(data, root)
        if rank == root:  # elsewhere the contents are nobody's promise
            keep(f"reduce {root}", data)
        gathered = [torch.zeros(5) for _ in range(size)] if rank == root else None
        dist.gather(filled(rank, 5), gathered, dst=root)
        keep(f"gather {root}", *(gathered or []))
        part = torch.zeros(6)
        dist.scatter(part, [filled(r, 6) for r in range(size)] if rank == root else None, src=root)
        keep(f"scatter {root}", part)
    everyone = [torch.zeros(4, 2) for _ in range(size)]
    dist.all_gather(everyone, filled(rank, 8).view(4, 2))
    keep("all_gather", *everyone)
    things = [None] * size
    dist.all_gather_object(things, {"rank": rank})
    out["all_gather_object"] = things
    together = [filled(rank, 3), filled(rank, 5).view(5, 1)]
    dist.all_reduce_coalesced(together)
    keep("all_reduce_coalesced", *together)
    mixed = torch.zeros(size * 2)
    dist.all_to_all_single(mixed, filled(rank, size * 2))
    keep("all_to_all_single", mixed)
    # Rank r sends i + 1 rows to rank i, so rank i gets i + 1 rows of everyone.
    sends, receives = [i + 1 for i in range(size)], [rank + 1] * size
    mixed = torch.zeros(sum(receives), 2)
    dist.all_to_all_single(mixed, filled(rank, sum(sends) * 2).view(-1, 2), receives, sends)
    keep("all_to_all_single, uneven", mixed)
    if rank == 0:
        dist.send(filled(9, 17), 1, tag=4)
    elif rank == 1:
        data = torch.zeros(17)
        dist.recv(data, 0, tag=4)
        keep("recv", data)
    group = dist.new_group([0, 1])
    if rank < 2:
        data = filled(rank, 10)
        dist.all_reduce(data, group=group)
        keep("sub-group", data)
    dist.barrier()
    return out


def own_operations(rank, size):
    """What gloo of this version lacks: gives the names of operations that went wrong."""
    wrong = []

    def expect(name, got, want):
        if not torch.equal(got, want):
            wrong.append(f"{name}: {got.tolist()} instead of {want.tolist()}")

    flag = torch.tensor([True, rank == 0])
    dist.broadcast(flag, 0)
    expect("broadcast of bool", flag, torch.tensor([True, True]))
    flag = torch.tensor([True, rank == 0])
    dist.all_reduce(flag, op=dist.ReduceOp.MIN)
    expect("min of bool", flag, torch.tensor([True, False]))
    total = sum(filled(r, 8) for r in range(size))
    for dtype in (torch.float32, torch.bfloat16):
        data = filled(rank, 8, dtype)
        dist.all_reduce(data)
        expect(f"sum of {dtype}", data, total.to(dtype))
    data = filled(rank, 8).double()
    dist.all_reduce(data, op=dist.ReduceOp.AVG)
    expect("average", data, total.double() / size)
    part = torch.zeros(2)
    dist.reduce_scatter(part, [filled(rank, 2 * size)[2 * i : 2 * i + 2] for i in range(size)])
    want = sum(filled(r, 2 * size) for r in range(size))[2 * rank : 2 * rank + 2]
    expect("reduce_scatter", part, want)
    part = torch.zeros(2)
    dist.reduce_scatter_tensor(part, filled(rank, 2 * size))
    expect("reduce_scatter_tensor", part, want)
    everything = torch.zeros(size * 3, dtype=torch.int16)
    dist.all_gather_into_tensor(everything, filled(rank, 3, torch.int16))
    expect("all_gather_into_tensor", everything,
           torch.cat([filled(r, 3, torch.int16) for r in range(size)]))
    got = [torch.zeros(r + 1) for r in range(size)]
    dist.all_to_all(got, [filled(rank * 10 + r, rank + 1) for r in range(size)])
    for r in range(size):
        expect(f"all_to_all from {r}", got[r], filled(r * 10 + rank, r + 1))
    return wrong


def refusals(rank, size):
    """The messages of what is not served."""
    said = []
    for call in (
        lambda: dist.all_reduce(torch.zeros(2), op=dist.ReduceOp.PRODUCT),
        lambda: dist.all_reduce(torch.zeros(2, dtype=torch.int16)),
        lambda: dist.all_reduce(torch.zeros(2, dtype=torch.bool)),
        lambda: dist.all_reduce(torch.zeros(2, 2).to_sparse()),
        lambda: dist.recv(torch.zeros(2)),
    ):
        try:
            call()
            said.append("")
        except (RuntimeError, ValueError) as error:
            said.append(str(error))
    data = torch.ones(2)
    dist.all_reduce(data)  # nothing of the above broke the group
    said.append(data.tolist() == [size, size])
    return said


def mismatch(rank, size):
    try:
        dist.all_reduce(torch.zeros(10 + (rank == 1)))
    except RuntimeError as error:
        return str(error)
    return ""


def two_threads(rank, size):
    """Operations of two threads without names are refused on every rank; with names they are served."""
    import threading

    import weft.torch

    group = dist.group.WORLD
    sums = {}

    def named(stream):
        for _ in range(20):
            data = torch.tensor([float(stream)])
            with weft.torch.stream(stream):
                work = dist.all_reduce(data, async_op=True)
            work.wait()
            sums[stream] = data.item()

    threads = [threading.Thread(target=named, args=(stream,)) for stream in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    served = sums == {1: size, 2: 2 * size}
    failed = []
    if rank == 0:
        pending = dist.all_reduce(torch.zeros(4), async_op=True)  # rank 1 does not call it

        def other():
            try:
                dist.all_reduce(torch.zeros(4))
            except RuntimeError as error:
                failed.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        try:
            pending.wait()
        except RuntimeError as error:
            failed.append(str(error))
    else:
        try:
            dist.recv(torch.zeros(1), 0)
        except RuntimeError as error:
            failed.append(str(error))
    return served, failed, group.broken()


class Operations(unittest.TestCase):
    def test_results_are_those_of_gloo(self):
        for size in (2, 3):
            want = run(shared_operations, size, backend="gloo")
            got = run(shared_operations, size)
            for rank in range(size):
                self.assertEqual(want[rank].keys(), got[rank].keys())
                for name in want[rank]:
                    self.assertEqual(want[rank][name], got[rank][name], f"{name}, rank {rank}")

    def test_operations_gloo_lacks(self):
        for size in (2, 3):
            self.assertEqual(run(own_operations, size), [[]] * size)

    def test_what_is_not_served_is_refused_with_a_sentence(self):
        for said in run(refusals, 2):
            for message, word in zip(said, ("PRODUCT", "Short", "Bool", "dense", "source")):
                self.assertIn(word, message)
            self.assertIs(said[-1], True)

    def test_shapes_that_differ_are_an_error_on_every_rank(self):
        for message in run(mismatch, 3):
            self.assertIn("weft", message)
            self.assertIn("1", message)

    def test_threads_need_names(self):
        for rank, (served, failed, broken) in enumerate(run(two_threads, 2)):
            self.assertTrue(served)
            self.assertTrue(failed and broken, f"rank {rank}: {failed}, {broken}")
            if rank == 0:
                self.assertIn("ambiguous order", failed[0])


if __name__ == "__main__":
    unittest.main()
