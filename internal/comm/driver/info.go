package driver

import "fmt"

// Info describes an engine.
type Info struct {
	Name     string // the engine: "mpi", "commtest"
	Library  string // the library's own text of name and version, or "" if there is no library
	Path     string // where the library was found, "" if there is none
	ABI      string // of the library: "mpich", "openmpi", "standard", or ""
	Version  string // of the interface that the library offers: "4.1"
	Launcher string // what started the job, "" if it is not known

	Thread ThreadLevel // what the library allows; the engine itself is safe for concurrent use at every level
	MaxTag int         // the largest tag, at least 32767

	SignalsRestored int  // signal handlers of the program that the library had replaced and that were put back
	Revokes         bool // the library can make every rank's calls on a communicator fail (MPIX_Comm_revoke)
}

// ThreadLevel is how threads may use the engine's library.
type ThreadLevel uint8

const (
	ThreadSingle     ThreadLevel = iota // the process has one thread
	ThreadFunneled                      // one thread makes all calls
	ThreadSerialized                    // one call at a time
	ThreadMultiple                      // any thread, at any time
)

// String is the level in lower case: "serialized".
func (l ThreadLevel) String() string {
	if names := [...]string{"single", "funneled", "serialized", "multiple"}; int(l) < len(names) {
		return names[l]
	}
	return fmt.Sprintf("ThreadLevel(%d)", uint8(l))
}
