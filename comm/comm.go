package comm

import (
	"context"
	"errors"
	"sync"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Engine is this process's part in a job of ranks, which carries the messages: comm/mpi and conformance/commtest have one each. A program
// gives it to [New] and closes it; its other methods are for this package.
type Engine = driver.Engine

// Info describes an engine, as its method Info returns it, or a library: its name, the library and where that was found, the ABI, the
// version, the launcher, and how threads may use it.
type Info = driver.Info

// Comm is a communicator: some ranks of the job, whose messages never mix with those of other communicators.
type Comm struct {
	engine     *engine
	d          driver.Comm
	prompt     driver.Prompter // d, or nil if d is not a Prompter
	rank, size int
	world      bool

	mu     sync.Mutex
	err    *Error // the first failure
	closed bool
	active int // operations under way
}

// New makes a communicator of all ranks of an engine. The caller closes the communicator, and then the engine.
func New(d Engine) *Comm {
	e := &engine{d: d, maxTag: d.Info().MaxTag}
	c := e.comm(d.World())
	c.world = true
	return c
}

func (e *engine) comm(d driver.Comm) *Comm {
	e.pool.open()
	c := &Comm{engine: e, d: d, rank: d.Rank(), size: d.Size()}
	c.prompt, _ = d.(driver.Prompter)
	return c
}

// Rank is this process's number in the communicator.
func (c *Comm) Rank() int { return c.rank }

// Size is the number of ranks.
func (c *Comm) Size() int { return c.size }

// Err returns the error of the first operation that failed, or nil. After such a failure the communicator refuses all operations.
func (c *Comm) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return nil
	}
	return c.err
}

// enter begins an operation, unless the communicator refuses it.
func (c *Comm) enter(ctx context.Context, op string) error {
	if c == nil {
		return driver.Errorf(op, driver.ErrInvalidArgument, "nil communicator")
	}
	if ctx.Err() != nil {
		return driver.Interrupted(op, ctx, driver.NoPeer, driver.NoTag, 0, 0)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return driver.Errorf(op, driver.ErrClosed, "the communicator was closed")
	case c.err != nil:
		return c.refusal(op)
	}
	c.active++
	return nil
}

func (c *Comm) refusal(op string) *Error {
	e := driver.Errorf(op, c.err.Kind, "refused, because the communicator failed before")
	e.Err = c.err
	return e
}

// leave ends an operation. err is nil unless the operation failed after it had begun.
func (c *Comm) leave(err *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active--
	if c.err == nil && err != nil {
		c.err = err
	}
}

// broken makes an Error of what an engine returned, with the name of the program's call.
func broken(op string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		if e.Op != op {
			named := *e
			named.Op, e = op, &named
		}
		return e
	}
	e = driver.Errorf(op, ErrEngine, "")
	e.Err = err
	return e
}

// Dup makes a communicator of the same ranks. All ranks call it. It waits for them until ctx ends.
func (c *Comm) Dup(ctx context.Context) (*Comm, error) {
	return c.derive(ctx, "Dup", func() (driver.Comm, error) { return c.d.Dup() })
}

// Split makes one communicator for each color. Its members are the ranks that gave this color, in the order of their keys, and where keys
// are equal in the order of their ranks. All ranks call it. It waits for them until ctx ends. The result is nil for a rank that gives a
// negative color.
func (c *Comm) Split(ctx context.Context, color, key int) (*Comm, error) {
	const most = 1<<31 - 1
	if color > most || key > most || key < -most {
		return nil, driver.Errorf("Split", driver.ErrInvalidArgument, "color %d or key %d does not fit into 32 bits", color, key)
	}
	return c.derive(ctx, "Split", func() (driver.Comm, error) { return c.d.Split(max(color, driver.NoColor), key) })
}

// SplitShared makes one communicator for each machine, of the ranks on it, in their order. All ranks call it. It waits for them until ctx
// ends.
func (c *Comm) SplitShared(ctx context.Context) (*Comm, error) {
	return c.derive(ctx, "SplitShared", func() (driver.Comm, error) { return c.d.SplitShared(c.rank) })
}

// derive makes a communicator with fn. fn waits for all ranks, and no context can end that. So derive first waits at a barrier, with ctx:
// after it all ranks are about to call fn.
func (c *Comm) derive(ctx context.Context, op string, fn func() (driver.Comm, error)) (*Comm, error) {
	if err := c.barrier(ctx, op); err != nil {
		return nil, err
	}
	if err := c.enter(ctx, op); err != nil {
		return nil, err
	}
	d, err := fn()
	if err != nil {
		e := broken(op, err)
		c.leave(e)
		return nil, e
	}
	c.leave(nil)
	if d == nil {
		return nil, nil
	}
	return c.engine.comm(d), nil
}

// Barrier waits until every rank has called it, or ctx ends.
func (c *Comm) Barrier(ctx context.Context) error { return c.barrier(ctx, "Barrier") }

func (c *Comm) barrier(ctx context.Context, op string) error {
	r, err := begin(ctx, c, op, driver.NoPeer, driver.NoTag)
	if err != nil {
		return err
	}
	if err := r.collective(&driver.Collective{Call: driver.Barrier}); err != nil {
		return err
	}
	_, err = r.finally(ctx)
	return err
}

// Close releases the communicator. All ranks call it, and it may wait for them. It fails, and changes nothing, while operations are under
// way, and for the last communicator while buffers of [NewBuffer] are open. If the communicator has failed, it does not wait for other
// ranks.
func (c *Comm) Close() error {
	const op = "Close"
	if c == nil {
		return driver.Errorf(op, driver.ErrInvalidArgument, "nil communicator")
	}
	c.mu.Lock()
	switch {
	case c.closed:
		c.mu.Unlock()
		return driver.Errorf(op, driver.ErrClosed, "the communicator was closed before")
	case c.active > 0:
		n := c.active
		c.mu.Unlock()
		return driver.Errorf(op, driver.ErrInvalidArgument, "%d operations are under way", n)
	case c.engine.lent.open() > 0 && c.engine.pool.last():
		c.mu.Unlock()
		return driver.Errorf(op, driver.ErrInvalidArgument, "%d buffers with memory of the engine are open", c.engine.lent.open())
	}
	c.closed = true
	failed := c.err != nil
	c.mu.Unlock()
	var err error
	if !c.world && !failed {
		err = c.d.Free()
	}
	c.engine.pool.close(c.engine.d)
	return err
}
