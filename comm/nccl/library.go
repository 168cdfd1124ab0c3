package nccl

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/siglib"
)

// EnvLibrary is the environment variable that names the library to load.
const EnvLibrary = "HALYARD_NCCL_LIBRARY"

// oldest is the first version with communicators that do not block (ncclConfig_t.blocking).
const oldest = 21400

// calls are the functions of NCCL that this package uses.
type calls struct {
	GetVersion     dl.Proc `sym:"ncclGetVersion"`
	GetUniqueID    dl.Proc `sym:"ncclGetUniqueId"`
	GetErrorString dl.Proc `sym:"ncclGetErrorString"`
	GetLastError   dl.Proc `sym:"ncclGetLastError,optional"`

	InitRankConfig   dl.Proc `sym:"ncclCommInitRankConfig,optional"`
	InitRankScalable dl.Proc `sym:"ncclCommInitRankScalable,optional"`
	GetAsyncError    dl.Proc `sym:"ncclCommGetAsyncError"`
	Finalize         dl.Proc `sym:"ncclCommFinalize"`
	Destroy          dl.Proc `sym:"ncclCommDestroy"`
	Abort            dl.Proc `sym:"ncclCommAbort"`
	Count            dl.Proc `sym:"ncclCommCount"`
	UserRank         dl.Proc `sym:"ncclCommUserRank"`

	GroupStart    dl.Proc `sym:"ncclGroupStart"`
	GroupEnd      dl.Proc `sym:"ncclGroupEnd"`
	AllReduce     dl.Proc `sym:"ncclAllReduce"`
	Broadcast     dl.Proc `sym:"ncclBroadcast"`
	Reduce        dl.Proc `sym:"ncclReduce"`
	AllGather     dl.Proc `sym:"ncclAllGather"`
	ReduceScatter dl.Proc `sym:"ncclReduceScatter"`
	Send          dl.Proc `sym:"ncclSend"`
	Recv          dl.Proc `sym:"ncclRecv"`
}

// library is a loaded NCCL or RCCL.
type library struct {
	call    calls
	name    string // the name that it was loaded by
	path    string
	version int
	rccl    bool

	setDevice  dl.Proc // HIP's hipSetDevice
	setContext dl.Proc // CUDA's cuCtxSetCurrent
}

// Describe loads the library for devices of a backend, "cuda" or "hip", and returns its Name, "NCCL" or "RCCL", its Version,
// "2.27.7", the name Library by which it was loaded, and its Path, "" if the system does not say. If none can be used, the error is of
// kind hal.ErrUnavailable, and names every library that was tried.
func Describe(backend string) (comm.Info, error) {
	l, err := load("Describe", backend)
	if err != nil {
		return comm.Info{}, err
	}
	i := comm.Info{Name: "NCCL", Version: versionText(l.version), Library: l.name, Path: l.path}
	if l.rccl {
		i.Name = "RCCL"
	}
	return i, nil
}

// versionText formats a number of ncclGetVersion. Since 2.9 the minor version has two digits in it.
func versionText(v int) string {
	if v < 10000 {
		return fmt.Sprintf("%d.%d.%d", v/1000, v/100%10, v%100)
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100)
}

// loaded has the libraries by backend and value of EnvLibrary. There are few of these in a program.
var loaded struct {
	sync.Mutex
	list map[[2]string]*library
}

func names(backend string) []string {
	if backend == "hip" {
		return []string{"librccl.so.1", "librccl.so", "/opt/rocm/lib/librccl.so.1"}
	}
	return []string{"libnccl.so.2", "libnccl.so"}
}

// load loads the library for devices of a backend.
func load(op, backend string) (*library, error) {
	if backend != "cuda" && backend != "hip" {
		return nil, driver.Errorf(op, driver.ErrUnsupported, "NCCL is for devices of cuda and hip, not of %s", backend)
	}
	loaded.Lock()
	defer loaded.Unlock()
	key := [2]string{backend, os.Getenv(EnvLibrary)}
	if l := loaded.list[key]; l != nil {
		return l, nil
	}
	siglib.Enter() // a library that this one loads may install signal handlers
	defer siglib.Leave()
	l, err := dl.First(EnvLibrary, names(backend), func(found *dl.Library) (*library, error) { return recognise(found, backend) })
	if err != nil {
		return nil, driver.Errorf(op, driver.ErrUnavailable, "%s", err.Error())
	}
	if loaded.list == nil {
		loaded.list = map[[2]string]*library{}
	}
	loaded.list[key] = l
	return l, nil
}

func recognise(found *dl.Library, backend string) (*library, error) {
	l := &library{name: found.Name()}
	if _, err := found.Fill(&l.call); err != nil {
		return nil, err
	}
	w := dl.GetWords()
	defer w.Put()
	if code := int32(l.call.GetVersion.Call1(w.At(0))); code != success {
		return nil, fmt.Errorf("ncclGetVersion returned %d", code)
	}
	l.version = int(int32(w[0]))
	l.path = l.call.GetVersion.Path()
	if l.version < oldest || !l.call.InitRankConfig.Valid() && !l.call.InitRankScalable.Valid() {
		return nil, fmt.Errorf("it is version %s, and cannot make communicators that do not block; %s or later can", versionText(l.version),
			versionText(oldest))
	}
	// RCCL is linked with HIP's runtime, so a search in RCCL finds that runtime's symbols. NCCL contains its CUDA runtime, so its search
	// does not.
	l.setDevice = found.Proc("hipSetDevice")
	l.rccl = l.setDevice.Valid()
	switch {
	case l.rccl && backend != "hip":
		return nil, fmt.Errorf("it is RCCL, which is for devices of hip")
	case !l.rccl && backend != "cuda":
		return nil, fmt.Errorf("it is NCCL, which is for devices of cuda")
	case l.rccl:
		return l, nil
	}
	cuda, err := dl.Open("HALYARD_CUDA_LIBRARY", "libcuda.so.1", "libcuda.so")
	if err != nil {
		return l, nil // without the driver there are no devices either
	}
	l.setContext = cuda.Proc("cuCtxSetCurrent")
	return l, nil
}

// enter makes a device current on this thread, to which the goroutine is locked. As in the backends, the device stays current: every call
// that needs a device makes it current itself. The device that was current before is not restored, since it may have been destroyed
// meanwhile.
func (l *library) enter(op string, dev *hal.Device) error {
	h := dev.Handles()
	set, to := l.setContext, h.Context
	if l.rccl {
		set, to = l.setDevice, h.Device
	} else if to == 0 {
		return driver.Errorf(op, driver.ErrClosed, "the device was closed")
	}
	if !set.Valid() {
		return driver.Errorf(op, driver.ErrUnavailable, "the driver's library, which makes a device current, was not found")
	}
	if code := int32(set.Call1(to)); code != success {
		return driver.Errorf(op, driver.ErrEngine, "the driver refused to make the device current with code %d", code)
	}
	return nil
}

// config is ncclConfig_t as it was in 2.14. Later versions only append fields. A library uses its own defaults for fields that are newer
// than the version in the config.
type config struct {
	size     uint64
	magic    uint32
	version  uint32
	blocking int32
	_        int32
}

func notBlocking() config {
	return config{size: uint64(unsafe.Sizeof(config{})), magic: 0xcafebeef, version: oldest}
}
