package resident

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// replica is one that does what the test says.
type replica struct {
	Entry
	name   string
	mem    Memory
	copies bool // its bytes have to be copied: it leaves
	stays  bool // they cannot be copied
	out    *[]string
}

func (r *replica) Evict(Cause) (freed, written uint64, leased, ok bool) {
	if r.ParkIfLeased() {
		return 0, 0, true, false
	}
	*r.out = append(*r.out, r.name)
	if r.copies {
		r.Leave()
		return 0, r.size, false, true
	}
	r.gone()
	return r.size, 0, false, true
}

func (r *replica) AwaitLeaving(ctx context.Context, _ Cause) (stays bool, err error) {
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case r.stays:
		r.Stay()
		return true, nil
	}
	r.gone()
	return false, nil
}

func (r *replica) Brief(*Division) bool { return false }

func (r *replica) gone() {
	_ = r.mem.Mem.Close()
	r.Uncount()
}

// account has a device of its own for each test, with a budget of so many replicas.
type account struct {
	t   *testing.T
	dev *hal.Device
	out []string // the names of the replicas that were asked to go, in order
}

const size = 1 << 10 // of each replica

func newAccount(t *testing.T, replicas uint64) *account {
	a := &account{t: t, dev: fixture.Device(t, host.New(host.Options{Discrete: 1}), 1)}
	Of(a.dev).SetBudget(replicas * size)
	return a
}

// add makes a replica that has memory and is in no use.
func (a *account) add(name string) *replica {
	r := &replica{name: name, out: &a.out}
	r.Init(a.dev, r, size)
	require.NoError(a.t, a.allocate(r))
	return r
}

func (a *account) allocate(r *replica) (err error) {
	if r.mem, err = r.Allocate(nil, a.dev, nil); err == nil {
		a.t.Cleanup(func() { _ = r.mem.Mem.Close() })
		r.AddLease()
		r.EndLease()
	}
	return err
}

// need asks for room for one more replica, and makes it.
func (a *account) need(ctx context.Context, try bool) (*replica, error) {
	r := &replica{name: "new", out: &a.out}
	r.Init(a.dev, r, size)
	for {
		err := a.allocate(r)
		p, lacks := err.(*Pressure)
		if !lacks {
			return r, err
		}
		if _, err := p.Relieve(ctx, "test", 1, try); err != nil {
			return nil, err
		}
	}
}

// The replica that was used longest ago goes first, but one whose bytes are current nowhere else only when no other is left, and one in use
// not at all.
func TestWhoIsEvictedNext(t *testing.T) {
	a := newAccount(t, 4)
	sole, old, _, fresh := a.add("sole"), a.add("old"), a.add("used"), a.add("fresh")
	sole.SetSole(true)
	old.AddLease()
	for range 3 {
		_, err := a.need(t.Context(), false)
		require.NoError(t, err)
		if len(a.out) == 1 {
			fresh.AddLease()
			fresh.EndLease()
		}
	}
	assert.Equal(t, []string{"used", "new", "fresh"}, a.out)
	old.EndLease()
	sole.SetSole(false)
	_, err := a.need(t.Context(), false)
	require.NoError(t, err)
	assert.Equal(t, "sole", a.out[3], "old was used after it")
	f := Of(a.dev).Figures()
	assert.Equal(t, Figures{Budget: 4 * size, Used: 4 * size, Replicas: 4, Evictions: 4}, f)
}

// If all are in use there is no room, and nothing has changed. What is larger than the budget is refused at once, with what the memory is
// used for.
func TestNoRoom(t *testing.T) {
	a := newAccount(t, 2)
	one, two := a.add("one"), a.add("two")
	one.AddLease()
	two.AddLease()
	before := Of(a.dev).Figures()
	_, err := a.need(t.Context(), false)
	assert.True(t, IsFull(err), "%v", err)
	assert.Equal(t, before, Of(a.dev).Figures())
	one.EndLease()
	_, err = a.need(t.Context(), false)
	require.NoError(t, err)
	assert.Equal(t, []string{"one"}, a.out)

	huge := &replica{}
	huge.Init(a.dev, huge, 3*size)
	_, err = huge.Allocate(nil, a.dev, nil)
	p, _ := err.(*Pressure)
	require.NotNil(t, p)
	_, err = p.Relieve(t.Context(), "test", 1, false)
	assert.ErrorIs(t, err, hal.ErrOutOfMemory)
	assert.ErrorContains(t, err, "3072 bytes")
	assert.Equal(t, []string{"one"}, a.out)
}

// The memory of a replica that leaves counts until its copies have ended. A call that does not wait is told so; one whose context has ended
// gives up; a replica that cannot leave stays, and is not asked again by the same call.
func TestLeaving(t *testing.T) {
	a := newAccount(t, 2)
	r, other := a.add("r"), a.add("other")
	r.copies = true
	for range 2 {
		_, err := a.need(t.Context(), true)
		assert.True(t, IsLater(err), "%v", err)
		assert.Equal(t, []string{"r"}, a.out, "its memory is enough, so the other stays")
	}
	other.AddLease()
	f := Of(a.dev).Figures()
	assert.Equal(t, uint64(2*size), f.Used)
	assert.Equal(t, uint64(size), f.Written)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.need(over, false)
	assert.ErrorIs(t, err, context.Canceled)
	r.stays = true
	_, err = a.need(t.Context(), false)
	assert.True(t, IsFull(err), "%v", err)
	r.stays = false
	_, err = a.need(t.Context(), false)
	require.NoError(t, err)
	assert.Equal(t, Figures{Budget: 2 * size, Used: 2 * size, Replicas: 2, Evictions: 2, Written: 2 * size}, Of(a.dev).Figures())
}

// Calls that wait for memory get it in the order of arrival, and each wait ends with its context.
func TestLine(t *testing.T) {
	a := newAccount(t, 1)
	r := a.add("r")
	r.AddLease()
	Of(a.dev).withhold(&r.Entry)
	require.True(t, r.ParkIfLeased()) // a call has tried to evict it
	p := &Pressure{Dev: a.dev, Need: size}
	first, second := p.Queue(nil), p.Queue(nil)
	assert.True(t, r.Behind())
	assert.True(t, first.First())
	assert.False(t, second.First())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	assert.False(t, second.Await(ctx), "the second waits behind the first")
	assert.True(t, first.Await(t.Context()), "a call looks once more after it has joined the line")
	assert.False(t, first.Await(t.Context()), "no lease ends by itself")
	r.EndLease()
	assert.True(t, first.Await(t.Context()))
	first.Leave()
	assert.True(t, second.First())
	assert.True(t, second.Await(t.Context()))
	second.Leave()
	assert.False(t, r.Behind())
}

// A search for the replica to evict looks at a few, however many there are.
func TestSearchesAreShort(t *testing.T) {
	const many = 2000
	a := newAccount(t, many)
	list := make([]*replica, many)
	for i := range list {
		list[i] = a.add("r")
	}
	for i, r := range list { // all positions in the ranking are out of date
		r.SetSole(i%2 == 0)
		r.AddLease()
		r.EndLease()
	}
	before := Of(a.dev).Steps()
	for range many {
		_, err := a.need(t.Context(), false)
		require.NoError(t, err)
	}
	assert.LessOrEqual(t, Of(a.dev).Steps()-before, 8*many)
}
