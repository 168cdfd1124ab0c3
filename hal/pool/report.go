package pool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// TagUsage sums up the live blocks of one tag and kind of memory.
type TagUsage struct {
	Tag    string
	Kind   hal.Kind
	Blocks int
	Bytes  uint64 // asked for
	Occupy uint64 // bytes, with sizes rounded up to classes
}

// Report says under which tags a pool's memory was in use at one moment.
type Report struct {
	Device string
	Limit  uint64     // bytes, 0 for none
	Tags   []TagUsage // the largest first
	Stats             // at that moment
}

// Report says under which tags the pool's memory is in use now. Other calls that allocate or free wait meanwhile.
func (p *Pool) Report() Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	resume := p.stop()
	r := p.report()
	resume()
	r.sort()
	return r
}

// report makes a report that is not sorted yet. The caller has stopped the pool by stop.
func (p *Pool) report() Report {
	r := Report{Device: p.dev.Name(), Limit: p.opts.limit, Stats: p.figures(true)}
	r.Blocks, r.Asked, r.Live = 0, 0, 0 // counted from the records below, with blocks that are being freed
	for _, h := range p.heaps {
		h.report(p, &r)
	}
	return r
}

// report adds the live blocks of a heap to a report. The caller has stopped the pool by stop.
func (h *heap) report(p *Pool, r *Report) {
	held := map[uint32]*TagUsage{}
	count := func(rec *record) {
		if rec == nil || !rec.live {
			return
		}
		tag := rec.tag.Load()
		x := held[tag]
		if x == nil {
			x = &TagUsage{Tag: p.tags.name(tag), Kind: h.kind}
			held[tag] = x
		}
		x.Blocks++
		x.Bytes += rec.size.Load()
		x.Occupy += rec.cap
		r.Blocks++
		r.Asked += rec.size.Load()
		r.Live += rec.cap
	}
	for _, c := range h.chunks {
		count(c.whole)
		for n := c.first; n != nil; n = n.next {
			count(n.rec)
		}
	}
	for _, x := range held {
		r.Tags = append(r.Tags, *x)
	}
}

func (r *Report) sort() {
	slices.SortFunc(r.Tags, func(a, b TagUsage) int {
		return cmp.Or(cmp.Compare(b.Occupy, a.Occupy), strings.Compare(a.Tag, b.Tag), cmp.Compare(a.Kind, b.Kind))
	})
}

// Summary is the report in one line, with the five largest usages.
func (r Report) Summary() string {
	limit := ""
	if r.Limit > 0 {
		limit = " of at most " + FormatSize(r.Limit)
	}
	return fmt.Sprintf("the pool of %s has taken %s%s, of which %d blocks hold %s: %s",
		r.Device, FormatSize(r.Reserved), limit, r.Blocks, FormatSize(r.Live), r.holders())
}

func (r Report) holders() string {
	const most = 5
	if len(r.Tags) == 0 {
		return "none"
	}
	var parts []string
	for _, x := range r.Tags[:min(most, len(r.Tags))] {
		parts = append(parts, x.words())
	}
	if n := len(r.Tags) - most; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(parts, ", ")
}

// words is the usage in a few words.
func (h TagUsage) words() string {
	tag := h.Tag
	if tag == "" {
		tag = "untagged"
	}
	return fmt.Sprintf("%s %s in %d %s blocks", tag, FormatSize(h.Occupy), h.Blocks, h.Kind)
}

// String is the report in lines, with every usage.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pool of %s\n%12d bytes taken from the device\n%12d bytes in %d live blocks\n%12d bytes free in the pool\n",
		r.Device, r.Reserved, r.Live, r.Blocks, r.Reserved-min(r.Reserved, r.Live))
	for _, x := range r.Tags {
		tag := x.Tag
		if tag == "" {
			tag = "(untagged)"
		}
		fmt.Fprintf(&b, "%12d bytes, %d blocks of %s memory: %s\n", x.Occupy, x.Blocks, x.Kind, tag)
	}
	return b.String()
}

// exhausted is the error of an allocation that failed for good.
func (p *Pool) exhausted(op string, kind hal.Kind, size uint64, cause error) error {
	info := p.dev.Info()
	s := &driver.Shortage{Request: size, Kind: kind, Held: p.reserved.Load()}
	if info.Caps.Has(hal.CapMemInfo) {
		if free, total, err := p.dev.MemInfo(); err == nil {
			s.Free, s.Total, s.FreeKnown = free, total, true
		}
	}
	return &hal.Error{Op: op, Backend: info.Backend, Device: info.Ordinal, Kind: hal.ErrOutOfMemory,
		Shortage: s, Err: &ExhaustedError{Report: p.Report(), err: cause}}
}
