package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/hal"
)

// refused records a device that cannot be opened. It counts as a failure only if it was named or the reason is unexpected.
func (r *report) refused(err error, named bool) {
	if !named && (errors.Is(err, hal.ErrUnsupported) || errors.Is(err, hal.ErrUnavailable)) {
		r.Skipped = append(r.Skipped, missing{What: oneLine(err)})
	} else {
		r.Failed = append(r.Failed, missing{What: oneLine(err)})
	}
}

// sites opens devices when they are needed.
type sites struct {
	infos []hal.Info
	open  map[string]*site
}

func (s *sites) get(ctx context.Context, name string) (*site, error) {
	if have := s.open[name]; have != nil {
		return have, nil
	}
	i := slices.IndexFunc(s.infos, func(info hal.Info) bool { return info.Name() == name })
	made, err := openSite(ctx, s.infos[i])
	if err == nil {
		s.open[name] = made
	}
	return made, err
}

// keep closes all sites but the named ones.
func (s *sites) keep(names ...string) error {
	var errs []error
	for name, site := range s.open {
		if !slices.Contains(names, name) {
			errs = append(errs, site.close())
			delete(s.open, name)
		}
	}
	return errors.Join(errs...)
}

// measure does the tasks and records the result of each. It returns only errors that do not belong to a single measurement.
func (r *report) measure(ctx context.Context, infos []hal.Info, tasks []task, o timing.Options) (err error) {
	for _, info := range infos {
		r.Simulated = r.Simulated || info.Simulated
	}
	start := time.Now()
	all := &sites{infos: infos, open: map[string]*site{}}
	defer func() {
		err = errors.Join(err, all.keep())
		r.Seconds = time.Since(start).Seconds()
	}()
	told := map[string]bool{}
	for _, t := range tasks {
		if ctx.Err() != nil {
			return nil
		}
		if err := all.keep(t.device, t.to); err != nil {
			return err
		}
		s, err := all.get(ctx, t.device)
		var to *site
		if err == nil && t.to != "" {
			to, err = all.get(ctx, t.to)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			r.note(t, t.sizes[0], err)
			continue
		}
		for _, x := range []*site{s, to} {
			if x != nil && x.noRaw != "" && !told[x.noRaw] {
				told[x.noRaw] = true
				r.Skipped = append(r.Skipped, missing{Device: x.info.Name(), What: "comparison", Reason: x.noRaw})
			}
		}
		r.family(ctx, t, s, to, o)
	}
	return nil
}

// note records why a measurement has no figure.
func (r *report) note(t task, size uint64, err error) {
	reason := missing{Device: t.device, What: t.fullName(size), Reason: oneLine(err)}
	if errors.Is(err, hal.ErrUnsupported) {
		r.Skipped = append(r.Skipped, reason)
	} else {
		r.Failed = append(r.Failed, reason)
	}
}

// family measures one operation at all sizes.
func (r *report) family(ctx context.Context, t task, s, to *site, o timing.Options) {
	f, err := t.open(s, to, max(t.sizes[len(t.sizes)-1], 4))
	if err != nil {
		r.note(t, t.sizes[0], err)
		return
	}
	simulated := s.info.Simulated || to != nil && to.info.Simulated
	for _, size := range t.sizes {
		ours, raw := f.at(size)
		if err := errors.Join(f.try("our call", size, ours), f.try("the raw call", size, raw)); err != nil {
			r.note(t, size, err)
			break
		}
		got, err := timing.Compare(ctx, ours, raw, o)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			r.note(t, size, err)
			break
		}
		r.Results = append(r.Results, resultOf(t, size, f.calls, simulated, &got))
	}
	if err := f.close(); err != nil {
		r.note(t, t.sizes[0], err)
	}
}

// proveUpTo is the largest size at which calls are checked before they are measured.
const proveUpTo = 1 << 20 // bytes

// try runs a side once and checks its effect.
func (f *fixture) try(name string, size uint64, side timing.Side) (err error) {
	if side.Op == nil || f.prove == nil || size > proveUpTo {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	return f.prove(size, func() error {
		if side.Enter != nil {
			if err := side.Enter(); err != nil {
				return err
			}
		}
		err := side.Op()
		if side.Leave != nil {
			err = errors.Join(err, side.Leave())
		}
		return err
	})
}

func resultOf(t task, size uint64, calls string, simulated bool, got *timing.Result) result {
	res := result{
		Device: t.device, To: t.to, Simulated: simulated, Name: t.fullName(size), Family: t.fullName(0), Size: size, About: t.about,
		Ours: got.Ours, Pairs: got.Pairs, OursBatch: got.OursBatch, Allocs: got.Allocs, Unsteady: got.Unsteady(),
	}
	if got.HasRaw() {
		res.Raw, res.Ratio, res.RawBatch, res.Calls = &got.Raw, &got.Ratio, got.RawBatch, calls
	}
	if n := res.bytes(); n > 0 {
		res.OursRate = float64(n) / max(got.Ours.Median, 1e-3) * 1e9
		if got.HasRaw() {
			res.RawRate = float64(n) / max(got.Raw.Median, 1e-3) * 1e9
		}
	}
	return res
}
