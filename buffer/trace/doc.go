// Package trace shows what coherent buffers do, and why.
//
// [Record] collects the events of every buffer in the process: copies and fills, from when they are asked
// for to when they are done, replicas that come and go, evictions and for whom, accesses that found
// their bytes in place, waits of the host. A [Recording] is written as a Chrome trace ([Recording.WriteJSON]),
// which ui.perfetto.dev and chrome://tracing open, or drawn as a timeline ([Recording.WriteSVG]).
// [Create] writes the same trace to a file while the program runs. [Log] sends the events to a log/slog
// logger, and [Push] counts them until [Scope.Pop].
//
// # Without changing the program
//
// A program that imports this package, if only for its side effect,
//
//	import _ "github.com/go-halyard/halyard/buffer/trace"
//
// obeys two environment variables. HALYARD_TRACE=FILE writes a trace of the whole run to FILE, in which
// %p stands for the number of the process. HALYARD_DEBUG=log logs every event to the standard error.
// Without them the import does nothing.
//
// Go runs nothing of a program's when it exits. So the file is a complete trace after each event that is
// written to it, whichever way the program ends. A copy is written when it is asked for, and again when it is
// done; of those that were under way at the end only the first is there, and leases that were are not. A
// program that wants them as well closes the trace itself, see [CloseEnvironment]. If the process is killed in the middle of a
// write, the closing bracket can be missing: the format leaves it optional, and viewers and [Read] do not ask for it.
//
// # Cost
//
// While nobody records, an access pays for a look at one variable. While somebody does, every copy and every
// lease costs a host callback on its stream, so that its end can be seen; on a device without
// [hal.CapHostCallback] it is shown as the moment at which it was enqueued. The end is when the callback
// ran: some microseconds after the copy was done, and more where goroutines wait for a processor, so that short copies
// behind one whose callback was late seem to take no time. Bytes, causes and order are exact. A trace
// file costs a write to the file for each event, with the buffer locked.
//
// # The execution tracer
//
// Buffers also mark their waits and copies for package runtime/trace, without any of the above: go tool trace
// shows each wait of the host as a region "halyard: wait", and each copy as a task "halyard: copy",
// from the call to its end, with a log line that says why.
package trace
