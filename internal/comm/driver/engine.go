package driver

import "unsafe"

// Engine is one process's part in a job of communicating processes.
type Engine interface {
	// Info describes the engine. It does not change.
	Info() Info

	// World is the communicator of all ranks of the job. It is the same at each call, and Free is not called on it.
	World() Comm

	// Test asks which of the requests are done, and lets the engine progress. Requests that are 0 are passed over. For each request
	// that is done, Test sets reqs[i] to 0 and fills in out[i]; it leaves the rest of both slices as they were. It returns the number
	// of requests that it set to 0. The slices have the same length, and the engine does not keep them. An error of one request is in
	// its Status; an error that Test itself returns means that the engine cannot say which requests are done, now or later.
	Test(reqs []Request, out []Status) (done int, err error)

	// Cancel asks that a request of Irecv end without a message. The request still has to be tested: it is done soon, with
	// Status.Cancelled set, or with a message that had arrived before. Other requests cannot be cancelled: the error is of kind
	// [ErrUnsupported], and the request goes on.
	Cancel(r Request) error

	// Alloc returns n > 0 bytes of zeroed memory outside Go's heap that start on a page. Too little memory is an error of kind
	// [ErrOutOfMemory].
	Alloc(n uint64) (unsafe.Pointer, error)

	// Free makes memory of Alloc available to later calls of Alloc. The engine keeps it mapped until Close, because a network's
	// library may have registered it and would not notice that it is unmapped.
	Free(p unsafe.Pointer, n uint64)

	// Close ends this process's part in the job. All ranks call it; it may wait for them. Communicators that were not freed, and
	// requests that are not done, end with it.
	Close() error
}

// Comm is a communicator: some ranks of the job, numbered from 0, whose messages never mix with those of other communicators. Its calls
// return errors, even if the engine's library would by default end the process.
type Comm interface {
	// Rank is this process's number, and Size the number of ranks. They do not change, and can be called after Free.
	Rank() int
	Size() int

	// Dup makes a communicator of the same ranks. All ranks call it; it waits for them.
	Dup() (Comm, error)

	// Split makes one communicator for each color. Its members are the ranks that gave this color, in the order of their keys, and where
	// keys are equal in the order of their ranks. All ranks call it; it waits for them. The result is nil, without an error, for a rank
	// that gave [NoColor]. Other colors are not negative and fit into 31 bits; keys fit into 32.
	Split(color, key int) (Comm, error)

	// SplitShared is Split with one color for each machine, whose ranks can share memory.
	SplitShared(key int) (Comm, error)

	// Free releases the communicator. All ranks call it; it may wait for them. Requests that are not done go on.
	Free() error

	// Isend begins to send n bytes at p. The request is done when the memory may be written again; the message may not have been
	// received by then, nor have left. If several messages from one rank to another on one communicator match a receive, the one
	// whose Isend was called first is received.
	Isend(p unsafe.Pointer, n uint64, dest, tag int) (Request, error)

	// Irecv begins to receive one message of at most n bytes to p. source may be [AnySource], and tag [AnyTag]. A message that is
	// longer ends the request with an error of kind [ErrTruncated]; what is at p is then unspecified.
	Irecv(p unsafe.Pointer, n uint64, source, tag int) (Request, error)

	// Iprobe asks whether a message has come that a receive with this source and tag would take, and describes it. The message stays. A
	// program that asks again and again finds it some time.
	Iprobe(source, tag int) (st Status, found bool, err error)

	// Collective begins an operation in which all ranks of the communicator take part, with the same Call and matching arguments.
	Collective(c Collective) (Request, error)

	// Abort ends all processes of the job, as far as the engine can, with an exit code that is not 0. It may not return.
	Abort(code int)
}

// Prompter is implemented by a Comm for whose engine one call that begins a message and asks whether it is done is cheaper than two calls.
// Package comm uses it where it is going to wait for the message, and Isend or Irecv elsewhere.
type Prompter interface {
	// PromptSend and PromptRecv are Isend and Irecv followed by Test, a few times at most. If the message is done by then, the request is
	// 0, and the status says how it ended. An error means that nothing has begun.
	PromptSend(p unsafe.Pointer, n uint64, dest, tag int) (Request, Status, error)
	PromptRecv(p unsafe.Pointer, n uint64, source, tag int) (Request, Status, error)
}

const (
	AnySource = -1 // the source of a receive that takes a message from any rank
	AnyTag    = -1 // the tag of a receive that takes a message with any tag
	NoColor   = -1 // the color of a rank that Split leaves out
)

// Request is the engine's number for work under way; 0 is no request.
type Request uint64

// Status is how a request ended.
type Status struct {
	Source    int    // of a receive: the rank that sent the message
	Tag       int    // of a receive: the tag of the message
	Bytes     uint64 // of a receive: the length of the message, which is the number of bytes that were written
	Cancelled bool   // of a receive: no message was received, because of Cancel
	Err       error  // nil, or an *Error
}
