// Package trace shows what coherent buffers do, and why.
//
// [Create] writes the events of every buffer in the process to a file: copies and fills, from the call to their end; replicas
// that are allocated and freed; evictions and the buffers that needed the room; accesses whose bytes were already in
// place; waits of the host. The file is a Chrome trace, which ui.perfetto.dev and chrome://tracing open. The command halyard trace draws it
// as a picture. [Log] sends the events to a log/slog logger. In the program itself [buffer.Observe] has them. To count
// instead, take the difference of two [buffer.Totals].
//
// # Without changing the program
//
// A program that imports package halyard, or this package, if only for its side effect,
//
//	import _ "github.com/go-halyard/halyard/buffer/trace"
//
// reads two environment variables. HALYARD_TRACE=FILE writes a trace of the whole run to FILE; %p in the name
// stands for the process id. HALYARD_DEBUG=log logs every event to standard error.
// Without them the import does nothing.
//
// Not every exit of a Go program can run code. Therefore the file is a complete trace after each event that is
// written to it. A copy is written when it is enqueued, and again when it is
// done. If the program exits before that, the second entry of the copy is missing, and so is the entry of a lease that is not released. A
// program that needs those entries closes the trace itself, see [CloseEnvironment]. If the process is killed during a
// write, the closing bracket may be missing: it is optional in the format, and viewers do not require it.
//
// # Cost
//
// Without a trace, an access reads one more variable. With a trace, every copy and every
// lease needs a host callback on its stream, which records its end. On a device without
// [hal.CapHostCallback] a copy is shown without a duration, at the time when it was enqueued. The recorded end is the time of the
// callback: some microseconds after the copy was done, or more if goroutines wait for a processor. Short copies
// after a copy whose callback was late then seem to take no time. Bytes, causes and order are exact. Each event is written to the file
// while the buffer is locked.
//
// # The execution tracer
//
// Buffers also mark their waits and copies for package runtime/trace, whether or not this package is used: go tool trace
// shows each wait of the host as a region "halyard: wait", and each copy as a task "halyard: copy",
// from the call to its end, with a log line that says why.
package trace
