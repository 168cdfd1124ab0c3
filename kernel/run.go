package kernel

import (
	"cmp"
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
)

// run takes the leases of all parts, enqueues the parts, and ends the leases.
func (l *launch) run(ctx context.Context, args []Arg) (err error) {
	if p := l.parts[0].on; p != nil && p.prints != nil {
		if err := printed.begin(ctx, p); err != nil {
			return err
		}
		defer l.print(ctx)
	}
	l.await(ctx)
	if len(l.wants) > 0 { // it is divided, and has buffers
		if l.cover, err = parts.Cover(ctx, l.wants); err != nil {
			return l.on[0].unleased("launch", err, args, l.wants)
		}
	}
	enqueued := false // a kernel of the launch
	defer func() { err = cmp.Or(err, l.end(ctx, 0, enqueued)) }()
	for i := range l.parts {
		if err = l.parts[i].reserve(ctx, l, args); err != nil {
			return err
		}
	}
	l.count()
	for i := 1; i < len(l.parts); i++ { // the launch of the first part checks its arguments itself
		p := &l.parts[i]
		if p.step != nil {
			continue // they are checked
		}
		if err = layer.Launch(p.stream, p.on.kernel, p.grid, layer.How{Check: true}, p.args); err != nil {
			return err
		}
	}
	for i := range l.parts {
		p := &l.parts[i]
		if err != nil && !enqueued {
			break
		}
		if l.trial != nil {
			l.trial.before(p)
		}
		err = cmp.Or(err, p.enqueue(ctx, l, args))
		if l.trial != nil {
			l.trial.after(p)
		}
		enqueued = enqueued || p.enqueued > 0
	}
	return err
}

// end ends the parts from i on, and then the cover. If an observer of a buffer panics, the others end all the same.
func (l *launch) end(ctx context.Context, i int, enqueued bool) (err error) {
	if i == len(l.parts) {
		if len(l.wants) > 0 {
			err = l.cover.Release()
		}
		return err
	}
	defer func() { err = cmp.Or(err, l.end(ctx, i+1, enqueued)) }()
	return l.parts[i].end(ctx, enqueued)
}

// reserve takes the leases of a part, and makes its arguments.
func (p *part) reserve(ctx context.Context, l *launch, args []Arg) (err error) {
	wants := p.wants
	switch {
	case len(wants) > 0: // of a kernel, or of a segment of a step
	case p.step != nil:
		wants = p.step.wants
	case l.divided:
		p.wantSlice(l.cover, args)
		wants = p.wants
	}
	if len(wants) > 0 {
		if p.leases, err = buffer.ReserveAll(ctx, p.stream, wants...); err != nil {
			return p.unleased(err, args)
		}
		p.regions = p.leases.Regions(p.regions)
	}
	if p.step != nil {
		return nil // its arguments are made
	}
	n := 0
	for i := range args {
		if !args[i].buffer {
			p.args = append(p.args, args[i].arg)
			continue
		}
		at := n
		if l.divided {
			at = p.first[n]
		}
		p.args = append(p.args, hal.At(p.regions[at]))
		n++
	}
	p.args = p.on.sized(p.args, args)
	if p.faults, err = p.on.faultsOn(p.stream); err != nil {
		return err
	}
	if p.faults != nil {
		p.args = append(p.args, hal.At(p.faults.mem.All()))
	}
	if l.divided {
		p.args = append(p.args, hal.Struct(&p.origin))
	}
	return nil
}

// unleased returns the error of a part whose leases were refused. If that is due to an argument, the error names it.
func (p *part) unleased(err error, args []Arg) error {
	if p.step != nil {
		return p.step.unleased(err)
	}
	return p.on.unleased("launch", err, args, p.wants)
}

// enqueue launches the part's kernels.
func (p *part) enqueue(ctx context.Context, l *launch, args []Arg) error {
	how := layer.How{Key: parts.Key(p.leases), Failed: l.failed}
	switch {
	case p.step != nil:
		p.enqueued, p.err = p.step.enqueue(ctx, p, how)
	case checking.Load() && len(p.wants) > 0 && !l.divided && !layer.Empty(p.grid):
		return p.enqueueChecked(ctx, how, args)
	default:
		if p.err = layer.Launch(p.stream, p.on.kernel, p.grid, how, p.args); p.err == nil && !layer.Empty(p.grid) {
			p.enqueued = 1
		}
	}
	return p.err
}

// end ends the leases of a part. enqueued says that a kernel of the launch was enqueued, perhaps of another part.
func (p *part) end(ctx context.Context, enqueued bool) (err error) {
	if p.faults != nil {
		if p.enqueued > 0 && p.err == nil {
			err, p.err = p.faults.inspect(ctx, p.stream)
		}
		p.faults.close()
	}
	switch {
	case p.leases == buffer.Leases{}:
		return err
	case !enqueued:
		return cmp.Or(err, p.leases.Release())
	}
	err = cmp.Or(err, p.leases.Commit())
	// An error of the release would say only that the stream was closed since, and the launch counts.
	if bad := p.err; bad != nil { // the stream has reported it, and its events will not report it again
		_ = p.leases.ReleaseChecked(func() error { return bad })
	} else {
		_ = p.leases.Release()
	}
	return err
}
