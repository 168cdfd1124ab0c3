package mpi

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/pages"
	"github.com/go-halyard/halyard/internal/siglib"
)

// The environment variables that this package reads.
const (
	EnvLibrary = "HALYARD_MPI_LIBRARY"
	envPreload = "HALYARD_MPI_PRELOAD"
	envThreads = "HALYARD_MPI_THREADS"
	envAlone   = "HALYARD_MPI_ALONE"
)

// library is an MPI library that has been loaded, and whose ABI is known.
type library struct {
	call    calls
	abi     abiKind
	layout  layout
	maker   maker
	name    string // the name that it was loaded by
	path    string
	text    string // of MPI_Get_library_version
	signs   bool   // it compares unsigned integers as if they were signed
	handles [objects]uintptr

	textAfter bool // MPI_Error_string may be called after MPI_Finalize, as MPI 4.0 and later allow
}

// names lists file names of libraries in the order in which they are tried. Libraries with an ABI of their own come before
// libmpi_abi, because that has only the calls of the standard.
func names(l launcher) []string {
	all := []string{"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12", "libmpi_abi.so.1", "libmpi.so"}
	if runtime.GOOS == "darwin" {
		all = []string{"libmpi.40.dylib", "libmpi.12.dylib", "libmpich.12.dylib", "libmpi_abi.1.dylib", "libmpi.dylib"}
	}
	if l.maker == makerMPICH {
		all[0], all[1], all[2] = all[1], all[2], all[0]
	}
	return all
}

// load loads the library that EnvLibrary names, or else the first of names that can be used. It calls only functions that may be called
// before MPI_Init.
func load(l launcher) (*library, error) {
	if !pages.Maps || runtime.GOOS == "windows" {
		return nil, driver.Errorf("Start", driver.ErrUnavailable, "MPI is not supported on %s", runtime.GOOS)
	}
	siglib.Enter() // UCX, which many libraries load, installs signal handlers
	defer siglib.Leave()
	for _, name := range strings.FieldsFunc(os.Getenv(envPreload), func(r rune) bool { return r == os.PathListSeparator }) {
		if _, err := dl.OpenVisible("", name); err != nil {
			return nil, &driver.Error{Op: "Start", Kind: driver.ErrUnavailable, Detail: envPreload, Err: err, Peer: driver.NoPeer,
				Tag: driver.NoTag}
		}
	}
	lib, err := dl.First(EnvLibrary, names(l), recognise)
	if err != nil {
		return nil, &driver.Error{Op: "Start", Kind: driver.ErrUnavailable, Detail: err.Error(), Peer: driver.NoPeer, Tag: driver.NoTag}
	}
	return lib, nil
}

func recognise(found *dl.Library) (*library, error) {
	lib := &library{name: found.Name()}
	if _, err := found.Fill(&lib.call); err != nil {
		return nil, err
	}
	lib.path = lib.call.InitThread.Path()
	lib.text = lib.versionText()
	lib.maker = makerOf(lib.text)
	world := found.Proc(handles[commWorld].openmpi)
	switch {
	case lib.standard() && lib.maker == makerIntel:
		return nil, fmt.Errorf("it has a draft of the standard ABI, with other values of constants; set %s to Intel's libmpi.so.12: %s",
			EnvLibrary, lib.text)
	case lib.standard():
		lib.abi = abiStandard
	case world.Valid():
		lib.abi = abiOpenMPI
	case lib.maker == makerMPICH || lib.maker == makerIntel:
		lib.abi = abiMPICH
	default:
		return nil, fmt.Errorf("its ABI is not known: %q", lib.text)
	}
	lib.layout = layouts[lib.abi]
	for i := range handles {
		h := &handles[i]
		switch lib.abi {
		case abiMPICH:
			lib.handles[i] = h.mpich
		case abiStandard:
			lib.handles[i] = h.standard
		case abiOpenMPI:
			p := found.Proc(h.openmpi)
			if !p.Valid() {
				return nil, &dl.MissingError{Library: found.Name(), Symbols: []string{h.openmpi}}
			}
			lib.handles[i] = uintptr(p)
		}
	}
	if lib.abi == abiOpenMPI {
		// Open MPI's plugins look for its symbols in the whole program (docs.open-mpi.org, "Dynamically loading libmpi at runtime").
		if _, err := dl.OpenVisible("", found.Name()); err != nil {
			return nil, err
		}
	}
	return lib, nil
}

// standard reports whether the library says that it has the standard ABI. A library with another ABI lacks MPI_Abi_get_version, or answers
// -1.
func (l *library) standard() bool {
	if !l.call.AbiGetVersion.Valid() {
		return false
	}
	major, minor := int32(-1), int32(-1)
	l.call.AbiGetVersion.Call2(uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))
	return major >= 1
}

func (l *library) versionText() string {
	text := make([]byte, 8192) // the largest MPI_MAX_LIBRARY_VERSION_STRING
	var n int32
	l.call.GetLibraryVersion.Call2(uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&n)))
	line := string(text[:max(0, min(int(n), len(text)))])
	line = strings.TrimRight(line, "\x00")
	if i := strings.Index(line, "MPICH Release date"); i > 0 { // the rest says how it was built
		line = line[:i]
	}
	return strings.Join(strings.Fields(line), " ")
}

func (l *library) number(n number) int { return l.abi.number(n) }

// loadHandle and storeHandle read and write a handle as C lays it out in memory.
func (l *library) loadHandle(p unsafe.Pointer) uintptr {
	if l.layout.handle == 4 {
		return uintptr(*(*uint32)(p))
	}
	return *(*uintptr)(p)
}

func (l *library) storeHandle(p unsafe.Pointer, h uintptr) {
	if l.layout.handle == 4 {
		*(*uint32)(p) = uint32(h)
		return
	}
	*(*uintptr)(p) = h
}
