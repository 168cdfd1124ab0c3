"""Exchanges tensors between a Go library, whose path is the argument, and NumPy. It stops at the first thing that is
wrong, and prints the name of each check that has passed."""

import ctypes
import gc
import sys
import threading

import numpy as np

lib = ctypes.CDLL(sys.argv[1])  # releases Python's lock around calls, which NumPy's deleters need
for name in ("hy_new", "hy_view", "hy_export", "hy_import", "hy_shape", "hy_values", "hy_add", "hy_close", "hy_delete"):
    getattr(lib, name).restype = ctypes.c_int

BUSY, CLOSED, FROZEN, INVALID, UNSUPPORTED, RANGE, MISALIGNED = 1, 2, 3, 4, 5, 6, 7

stray = []  # what went wrong in a destructor, where nobody can catch it
sys.unraisablehook = stray.append

api = ctypes.pythonapi

# A destructor's capsule has no references any more, so Python must not make one: it is passed as an address.
Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
dying_is = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", api))
dying_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", api))

api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]

# Names must outlive the capsules that have them.
NAMES = {legacy: (name, b"used_" + name) for legacy, name in ((False, b"dltensor_versioned"), (True, b"dltensor"))}

TYPES = ("int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128").split()


def text():
    buf = ctypes.create_string_buffer(1000)
    lib.hy_error(buf, len(buf))
    return buf.value.decode()


def check(code, want=0):
    assert code == want, (code, want, text())


def shape_of(*extents):
    return (ctypes.c_longlong * len(extents))(*extents)


class Tensor:
    """An array of the Go library's."""

    def __init__(self, id, dtype):
        self.id, self.dtype = id, np.dtype(dtype)

    @classmethod
    def new(cls, dtype, *shape):
        id = ctypes.c_int()
        check(lib.hy_new(dtype.encode(), len(shape), shape_of(*shape), ctypes.byref(id)))
        return cls(id.value, dtype)

    def view(self, how):
        id = ctypes.c_int()
        check(lib.hy_view(self.id, how.encode(), ctypes.byref(id)))
        return Tensor(id.value, self.dtype)

    @property
    def shape(self):
        extents = (ctypes.c_longlong * 64)()
        return tuple(extents[: lib.hy_shape(self.id, extents)])

    def values(self):
        """The elements as Go has them, in memory of NumPy's own."""
        out = np.empty(self.shape, self.dtype)
        check(lib.hy_values(self.id, ctypes.c_void_p(out.ctypes.data)))
        return out

    def add(self, n, want=0):
        check(lib.hy_add(self.id, n), want)

    def close(self, want=0):
        check(lib.hy_close(self.id), want)

    def export(self, write=True, legacy=False, copy=False, want=0):
        address = ctypes.c_ulonglong()
        check(lib.hy_export(self.id, ctypes.c_bool(write), ctypes.c_bool(legacy), ctypes.c_bool(copy), ctypes.byref(address)), want)
        return address.value


@Destructor
def drop(capsule):
    """The destructor that DLPack asks for: a capsule that nobody took calls the deleter."""
    for legacy in (False, True):
        if dying_is(capsule, NAMES[legacy][0]):
            check(lib.hy_delete(ctypes.c_ulonglong(dying_pointer(capsule, NAMES[legacy][0])), ctypes.c_bool(legacy)))


class Capsule:
    """What np.from_dlpack takes: an object with __dlpack__."""

    def __init__(self, address, legacy=False):
        self.legacy = legacy
        self.capsule = api.PyCapsule_New(address, NAMES[legacy][0], ctypes.cast(drop, ctypes.c_void_p))

    def __dlpack__(self, **kwargs):
        if self.legacy or kwargs.get("max_version", (0, 0))[0] >= 1:
            return self.capsule
        raise BufferError("only versioned")

    def __dlpack_device__(self):
        return (1, 0)

    def name(self):
        return api.PyCapsule_GetName(self.capsule)


def numbers(dtype, *shape):
    return np.arange(int(np.prod(shape))).astype(dtype).reshape(shape)


def refused(kind, fn):
    try:
        fn()
    except kind:
        return
    raise AssertionError("not refused")


def go_to_numpy():
    for dtype in TYPES:
        for legacy in (False, True):
            for how, expect in (
                ("", lambda a: a),
                ("transposed", lambda a: a.T),
                ("reversed", lambda a: a[::-1, ::-1][:, ::2]),
                ("window", lambda a: a[1:3, 0:4:3]),
            ):
                whole = Tensor.new(dtype, 4, 5)
                t = whole.view(how) if how else whole
                want = expect(numbers(dtype, 4, 5))
                done = lib.hy_done()
                holder = Capsule(t.export(legacy=legacy), legacy)
                a = np.from_dlpack(holder)
                assert holder.name() == NAMES[legacy][1], holder.name()
                assert a.dtype == np.dtype(dtype) and a.shape == want.shape == t.shape
                assert a.flags.writeable == (not legacy), "NumPy takes a struct that cannot say it for read-only"
                assert np.array_equal(a, want), (dtype, how, a, want)
                if 1 not in a.shape:
                    step = a.dtype.itemsize
                    assert [s // step for s in a.strides] == [s // step for s in want.strides], (how, a.strides, want.strides)
                if not legacy:
                    a += np.dtype(dtype).type(7)
                    want = want + np.dtype(dtype).type(7)
                whole.close(BUSY)
                del holder
                gc.collect()
                assert lib.hy_done() == done and lib.hy_outstanding() == 1, "the array still uses the memory"
                del a
                gc.collect()
                assert lib.hy_done() == done + 1 and lib.hy_outstanding() == 0
                assert np.array_equal(t.values(), want)
                whole.close()
                whole.close()
                whole.add(1, CLOSED)


def read_only():
    t = Tensor.new("float32", 3, 3)
    t.export(write=False, legacy=True, want=UNSUPPORTED)
    holder = Capsule(t.export(write=False))
    a = np.from_dlpack(holder)
    assert not a.flags.writeable
    refused(ValueError, lambda: a.__setitem__((0, 0), 1))
    assert np.array_equal(t.values(), a), "readers share"
    b = np.from_dlpack(Capsule(t.export(write=False)))
    assert b.ctypes.data == a.ctypes.data, "nothing was copied"
    del a, b, holder
    t.add(1)
    t.close()


def copies():
    t = Tensor.new("int64", 6)
    a = np.from_dlpack(Capsule(t.export(copy=True)))
    a[:] = 99
    assert np.array_equal(t.values(), numbers("int64", 6))
    t.close()
    assert np.array_equal(a, np.full(6, 99)), "the copy is the consumer's"
    del a
    assert lib.hy_outstanding() == 0


def nobody_takes_it():
    t = Tensor.new("uint16", 8)
    for legacy in (False, True):
        done = lib.hy_done()
        holder = Capsule(t.export(legacy=legacy), legacy)
        del holder
        gc.collect()
        assert lib.hy_done() == done + 1 and lib.hy_outstanding() == 0
    t.close()


def deleted_on_another_thread():
    t = Tensor.new("float64", 1000)
    for _ in range(50):
        box = [np.from_dlpack(Capsule(t.export(write=False)))]
        worker = threading.Thread(target=box.clear)
        worker.start()
        worker.join()
        assert lib.hy_outstanding() == 0
    t.close()


def take(a, legacy, dtype=None, copy=False, want=0):
    """What a consumer does with the capsule of an array."""
    capsule = a.__dlpack__() if legacy else a.__dlpack__(max_version=(1, 0))
    address = api.PyCapsule_GetPointer(capsule, NAMES[legacy][0])
    id = ctypes.c_int()
    code = lib.hy_import(ctypes.c_ulonglong(address), ctypes.c_bool(legacy), (dtype or a.dtype.name).encode(), ctypes.c_bool(copy), ctypes.byref(id))
    check(code, want)
    if code == 0:
        assert api.PyCapsule_SetName(capsule, NAMES[legacy][1]) == 0
    del capsule  # calls the deleter if it has not been renamed
    return Tensor(id.value, dtype or a.dtype.name)


def numpy_to_go():
    for dtype in TYPES:
        for legacy in (False, True):
            for make in (
                lambda a: a,
                lambda a: a.T,
                lambda a: a[::-1, ::2],
                lambda a: a[1:3, ::-3],
                lambda a: a[2],
                lambda a: a[1, 2, ...],
                lambda a: np.asfortranarray(a),
            ):
                base = numbers(dtype, 4, 5)
                a = make(base)
                if not isinstance(a, np.ndarray) or not a.flags.writeable:
                    a = base[:1, :1].reshape(())
                start = sys.getrefcount(a)
                t = take(a, legacy)
                assert sys.getrefcount(a) == start + 1, "Go holds the array"
                assert t.shape == a.shape
                assert np.array_equal(t.values(), a)
                want = a + np.dtype(dtype).type(3)
                t.add(3)
                assert np.array_equal(a, want), "NumPy sees what Go wrote"
                a[...] = 1
                assert np.array_equal(t.values(), np.ones_like(a)), "Go sees what NumPy wrote"
                t.close()
                assert sys.getrefcount(a) == start, "Go has let the array go"
                t.close()
                assert sys.getrefcount(a) == start
                t.add(1, CLOSED)
                t.add(1, CLOSED)


def go_keeps_numpys_memory():
    a = numbers("int32", 100000)
    t = take(a, False)
    del a
    gc.collect()
    junk = [np.full(100000, 0x7B7B7B7B, "int32") for _ in range(20)]
    assert np.array_equal(t.values(), numbers("int32", 100000))
    del junk
    t.close()


def read_only_from_numpy():
    a = numbers("float32", 5)
    a.flags.writeable = False
    start = sys.getrefcount(a)
    refused(BufferError, lambda: a.__dlpack__())
    t = take(a, False)
    t.add(1, FROZEN)
    t.export(want=FROZEN)
    assert np.array_equal(t.values(), a)
    t.close()
    assert sys.getrefcount(a) == start
    u = take(a, False, copy=True)
    assert sys.getrefcount(a) == start, "a copy holds nothing"
    u.add(1)
    assert np.array_equal(u.values(), a + 1)
    u.close()


def refusals():
    a = numbers("float32", 4, 4)
    start = sys.getrefcount(a)
    for legacy in (False, True):
        take(a, legacy, dtype="int32", want=INVALID)
        none = take(a[:0], legacy)
        assert none.values().size == 0
        none.close()
        odd = np.frombuffer(bytearray(33), "uint8")[1:].view("float64")
        take(odd, legacy, want=MISALIGNED)
        assert np.array_equal(take(odd, legacy, copy=True).values(), odd)
        take(np.zeros(3, "bool"), legacy, dtype="int8", want=INVALID)
        flags = np.array([True, False, True])
        t = take(flags, legacy, dtype="uint8")
        assert np.array_equal(t.values(), [1, 0, 1])
        flags[1] = True
        assert np.array_equal(t.values(), [1, 1, 1])
        t.close()
        take(np.zeros(3, "float16"), legacy, dtype="float32", want=INVALID)
    row = np.broadcast_to(numbers("float32", 4), (3, 4))
    take(row, False, want=INVALID)
    t = take(row, False, copy=True)
    assert np.array_equal(t.values(), row)
    t.close()
    assert sys.getrefcount(a) == start
    assert lib.hy_outstanding() == 0


def there_and_back():
    """NumPy's array, over Go, to another array of NumPy's, all on one memory."""
    a = numbers("complex128", 3, 4)
    start = sys.getrefcount(a)
    t = take(a.T, False)
    b = np.from_dlpack(Capsule(t.export()))
    assert b.shape == (4, 3) and b.ctypes.data == a.ctypes.data
    b[1, 2] = 5 + 6j
    assert a[2, 1] == 5 + 6j
    t.close(BUSY)
    del b
    t.close()
    assert sys.getrefcount(a) == start

    t = Tensor.new("int16", 2, 3)
    u = take(np.from_dlpack(Capsule(t.export())), False)
    u.add(10)
    t.close(BUSY)
    u.close()
    assert np.array_equal(t.values(), numbers("int16", 2, 3) + 10)
    t.close()


def many_threads():
    failures = []

    def work(seed):
        try:
            for i in range(30):
                a = numbers("int64", 50 + seed, 3)
                t = take(a, i % 2 == 0)
                b = np.from_dlpack(Capsule(t.export()))
                b += 1
                assert a[0, 0] == 1
                del b
                t.close()
                assert sys.getrefcount(a) == 2
        except BaseException as e:  # reported by the main thread
            failures.append(repr(e))

    workers = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not failures, failures
    assert lib.hy_outstanding() == 0


for test in (go_to_numpy, read_only, copies, nobody_takes_it, deleted_on_another_thread, numpy_to_go, go_keeps_numpys_memory,
             read_only_from_numpy, refusals, there_and_back, many_threads):
    test()
    assert not stray, stray
    print(test.__name__, flush=True)
