package buffer_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

var rewrite = flag.Bool("rewrite", false, "write into the scripts of testdata what they print now")

// A script is blocks with an empty line between them: comments, commands, a line "----" and what each command prints, which is the
// events as they happened and then the result. Elements are uint32, and ranges are of elements. Waits for work are left out, because
// they depend on how fast a device is. The next command begins when all work has ended, unless a stream is held, and when each
// command that was begun with "go" has ended or waits for another access.
func TestScripts(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			text := strings.ReplaceAll(string(raw), "\r\n", "\n")
			got := newScript(t).run(text)
			if *rewrite {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			require.Equal(t, text, got, "the flag -rewrite accepts what is printed now")
		})
	}
}

type script struct {
	t       *testing.T
	ctx     context.Context
	faulty  *faulty
	devices map[string]*hal.Device
	streams map[string]*hal.Stream
	gates   map[string]*hal.Gate
	buffers map[string]*buffer.Buffer[uint32]
	whole   map[uint64]string // the names of whole buffers, by their numbers
	jobs    map[string]job
	events  chan func() string // in one line each
	leases  map[string]lease
	mu      sync.Mutex // of leases
}

type lease interface{ Release() error }

// job is a command that was begun with "go".
type job struct {
	cancel context.CancelFunc
	result chan string
}

func newScript(t *testing.T) *script {
	limit, cancel := context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	s := &script{t: t, ctx: limit, devices: map[string]*hal.Device{"host": nil}, streams: map[string]*hal.Stream{}, gates: map[string]*hal.Gate{},
		buffers: map[string]*buffer.Buffer[uint32]{}, whole: map[uint64]string{}, jobs: map[string]job{}, leases: map[string]lease{},
		events: make(chan func() string, 1<<10)}
	s.faulty = newFaulty(host.Options{Name: "one", Discrete: 4})
	s.faulty.linked = true
	t.Cleanup(buffer.Observe(func(e buffer.Activity) {
		if e.Kind != buffer.ActivityWait || e.Why == "access" {
			s.events <- func() string { return s.line(e) }
		}
	}))
	return s
}

func (s *script) run(text string) string {
	blocks := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, block := range blocks {
		block, _, _ = strings.Cut(block, "\n----")
		out := []string{block, "----"}
		for line := range strings.SplitSeq(block, "\n") {
			if w := strings.Fields(line); len(w) > 0 && w[0] != "#" {
				out = append(out, s.command(w)...)
				blocks[i] = strings.Join(out, "\n")
			}
		}
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

// command runs a command and returns the lines that it prints.
func (s *script) command(w []string) (out []string) {
	var result, begun string
	if w[0] == "go" {
		limit, cancel := context.WithCancel(s.ctx)
		j := job{cancel, make(chan string, 1)}
		begun, s.jobs[w[1]] = w[1], j
		go func() { j.result <- (&call{s, limit, w[2:]}).result() }()
	} else {
		result = (&call{s, s.ctx, w}).result()
	}
	for s.moving() {
		require.NoError(s.t, s.ctx.Err(), "%v does not come to rest", w)
		runtime.Gosched()
	}
	for len(s.events) > 0 {
		out = append(out, (<-s.events)())
	}
	if result != "" {
		out = append(out, result)
	}
	for _, name := range slices.Sorted(maps.Keys(s.jobs)) {
		if j := s.jobs[name]; len(j.result) > 0 {
			j.cancel()
			delete(s.jobs, name)
			out = append(out, strings.TrimSuffix(name+" ends: "+<-j.result, ": "))
		} else if name == begun {
			out = append(out, name+" waits")
		}
	}
	return out
}

// moving reports whether anything has still to happen before the next command.
func (s *script) moving() bool {
	running, leaving := 0, 0
	for _, j := range s.jobs {
		running += 1 - len(j.result)
	}
	for _, name := range s.whole {
		running -= buffer.Waiting(s.buffers[name])
		leaving += buffer.Leaving(s.buffers[name])
	}
	if running != 0 || len(s.gates) > 0 {
		return running != 0
	}
	for _, stream := range s.streams {
		_ = stream.Sync(s.ctx) // it may tell of work that a story has fail
	}
	return leaving > 0
}

func (s *script) line(e buffer.Activity) string {
	where, why := strings.TrimPrefix(e.From+" -> "+e.To, " -> "), fmt.Sprintf("%s, %v", e.Cause, e.Action)
	if e.For != 0 {
		why = fmt.Sprintf("%s, %s for %s", e.Cause, e.Why, s.whole[e.For])
	}
	return fmt.Sprintf("%v %s [%d, %d) %s: %s", e.Kind, s.whole[e.Buffer], e.Lo/4, e.Hi/4, where, why)
}

// call is a command under way.
type call struct {
	*script
	ctx context.Context
	w   []string
}

func (c *call) buf(i int) *buffer.Buffer[uint32] { return c.buffers[c.w[i]] }
func (c *call) stream(i int) *hal.Stream         { return c.streams[c.w[i]] }

func (c *call) num(i int) int {
	n, err := strconv.Atoi(c.w[i])
	require.NoError(c.t, err, "%v", c.w)
	return n
}

func (c *call) mode(i int) coherence.Mode {
	return coherence.Mode(slices.Index([]string{"read", "readwrite", "overwrite"}, c.w[i])) // as they are numbered
}

// site is where a call stands, as errors have it.
var site = regexp.MustCompile(` \([^()]*\.\w+:\d+\)`)

func (c *call) result() string {
	require.Contains(c.t, commands, c.w[0])
	text, err := commands[c.w[0]](c)
	if err != nil {
		return "error: " + site.ReplaceAllString(strings.ReplaceAll(err.Error(), "\n", "; "), "")
	}
	return text
}

// commands are the commands by their first word. They return what is printed.
var commands = map[string]func(c *call) (string, error){
	"devices": func(c *call) (string, error) { return c.open(c.faulty) }, // discrete, one:1 to one:4, which reach each other
	"unified": func(c *call) (string, error) { return c.open(host.New(host.Options{Name: "unified"})) },
	"hidden":  func(c *call) (string, error) { return c.open(newHidden()) }, // the host cannot access its memory
	"buffer":  func(c *call) (string, error) { return c.name(buffer.New[uint32](c.num(2))) },
	"slice": func(c *call) (_ string, err error) {
		c.buffers[c.w[1]], err = c.buf(2).Slice(c.num(3), c.num(4))
		return
	},
	"close":     func(c *call) (string, error) { return "", c.buf(1).Close() },
	"fill":      func(c *call) (string, error) { return "", c.buf(2).FillOn(c.ctx, c.stream(1), uint32(c.num(3))) },
	"prefetch":  func(c *call) (string, error) { return "", c.buf(2).Prefetch(c.stream(1)) },
	"overwrite": func(c *call) (string, error) { return "", c.buf(1).Fill(c.ctx, uint32(c.num(2))) },
	"copy":      func(c *call) (string, error) { return "", c.buf(1).CopyFrom(c.ctx, c.buf(2)) },
	"evict":     func(c *call) (string, error) { return "", c.buf(1).Evict(c.ctx, c.devices[c.w[2]]) },
	"budget":    func(c *call) (string, error) { buffer.SetBudget(c.devices[c.w[1]], uint64(c.num(2))); return "", nil }, // in bytes
	"cancel":    func(c *call) (string, error) { j := c.jobs[c.w[1]]; j.cancel(); j.result <- <-j.result; return "", nil },
	"hold":      func(c *call) (_ string, err error) { c.gates[c.w[1]], err = c.stream(1).Gate(); return },
	"open":      func(c *call) (string, error) { g := c.gates[c.w[1]]; delete(c.gates, c.w[1]); return "", g.Signal() },
	"enter":     func(c *call) (string, error) { return c.lease(c.buf(2).AcquireHost(c.ctx, c.mode(3))) },
	"acquire":   func(c *call) (string, error) { return c.lease(c.buf(3).TryAcquire(c.stream(2), c.mode(4))) },
	"await":     func(c *call) (string, error) { return c.lease(c.buf(3).Acquire(c.ctx, c.stream(2), c.mode(4))) },
	"fail":      func(c *call) (string, error) { c.faulty.fail(c.w[1], c.num(2)); return "", nil }, // later, when they run
	"release":   func(c *call) (string, error) { return "", c.leases[c.w[1]].Release() },
	"view": func(c *call) (text string, err error) {
		err = c.buf(1).View(c.ctx, func(x []uint32) error { text = fmt.Sprint(x); return nil })
		return text, err
	},
	"update": func(c *call) (string, error) { // adds to the first element
		return "", c.buf(1).Update(c.ctx, func(x []uint32) error { x[0] += uint32(c.num(2)); return nil })
	},
	"ranges": func(c *call) (string, error) {
		var list []buffer.Range
		for i := 5; i < len(c.w); i += 2 {
			list = append(list, buffer.Range{Lo: c.num(i), Hi: c.num(i + 1)})
		}
		return c.lease(c.buf(3).AcquireRanges(c.ctx, c.stream(2), c.mode(4), list))
	},
	"all": func(c *call) (string, error) { // its leases are called l.0, l.1 and so on
		var wants []buffer.Want
		for i := 3; i < len(c.w); i += 2 {
			wants = append(wants, c.buf(i).Want(c.mode(i+1)))
		}
		return c.lease(buffer.AcquireAll(c.ctx, c.stream(2), wants...))
	},
	"write": func(c *call) (string, error) { // write s1 l lo hi v: elements of the region of a lease
		r, lo, hi := c.leases[c.w[2]].(buffer.Lease).Region(), uint64(c.num(3)), uint64(c.num(4))
		return "", c.stream(1).Fill(hal.Region{Mem: r.Mem, Off: r.Off + 4*lo, Len: 4 * (hi - lo)}, hal.Pattern32(uint32(c.num(5))))
	},
	"adopt": func(c *call) (string, error) { // a slice on the host, or memory of a device
		d, n := c.devices[c.w[2]], c.num(3)
		if d == nil {
			return c.name(buffer.AdoptSlice(make([]uint32, n), func() { c.events <- func() string { return "release " + c.w[1] } }))
		}
		m, err := d.Alloc(hal.KindDevice, uint64(n)*4, 0)
		require.NoError(c.t, err)
		return c.name(buffer.Adopt[uint32](m))
	},
	"state": func(c *call) (string, error) {
		list := []string{}
		for _, name := range slices.Sorted(maps.Keys(c.devices)) {
			if c.buf(1).Version(c.devices[name]) >= 0 {
				list = append(list, name)
			}
		}
		return fmt.Sprint("current at ", list), nil
	},
}

// open opens devices, each with a stream; these are called s1, s2 and so on.
func (c *call) open(b driver.Backend) (string, error) {
	for _, name := range c.w[1:] {
		d, err := hal.OpenWith(c.ctx, b, int(name[len(name)-1]-'0'))
		require.NoError(c.t, err)
		c.t.Cleanup(func() { require.NoError(c.t, d.Close()) })
		stream := fmt.Sprintf("s%d", len(c.devices))
		c.devices[name], c.streams[stream] = d, newStream(c.t, d)
		for _, out := range []bool{false, true} {
			c.streams[fmt.Sprint(stream, out)], err = d.CopyStream(out)
			require.NoError(c.t, err)
		}
	}
	return "", nil
}

func (c *call) name(b *buffer.Buffer[uint32], err error) (string, error) {
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, b.Close()) })
	c.buffers[c.w[1]], c.whole[buffer.ID(b)] = b, c.w[1]
	return "", nil
}

func (c *call) lease(l lease, err error) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases[c.w[1]] = l
	if all, ok := l.(buffer.Leases); ok {
		for i := 0; all.At(i) != (buffer.Lease{}); i++ {
			c.leases[fmt.Sprintf("%s.%d", c.w[1], i)] = all.At(i)
		}
	}
	return "", err
}
