package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/hal"
)

// quick is the command line of a short run: two pairs of each.
func quick(args ...string) []string { return append([]string{"-reps", "2"}, args...) }

func TestBenchOnTheHost(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	stdout, stderr, status := program(t, quick("-backend", "host", "-max-size", "4KiB")...)
	require.Equal(t, 0, status, "%s%s", stdout, stderr)
	assert.Empty(t, stderr, "no progress where nobody looks")
	assert.Contains(t, stdout, "simulated: their times say nothing about hardware")
	assert.Contains(t, stdout, "\nhost:1  simulated discrete device 1, discrete, simulated\n")
	unified, discrete, ok := strings.Cut(stdout, "\nhost:1  ")
	require.True(t, ok)
	assert.NotContains(t, unified, "buffer/round-trip", "nothing is copied to and from a unified device")
	assert.NotContains(t, strings.ReplaceAll(unified, "across/host:0-host:1 (simulated)", ""), "(simulated)")
	for line := range strings.SplitSeq(discrete, "\n") {
		if strings.Contains(line, "/") && strings.Contains(line, " ns ") && !strings.Contains(line, "GB/S") {
			assert.Contains(t, line, "(simulated)")
		}
	}
	assert.Regexp(t, `(?m)^copy-in/pageable-device +1 KiB +[0-9.]+ [mun]s +[0-9.]+ [mun]s +~?[0-9.]+ +[0-9.]+ - [0-9.]+ +[0-9.]+ +[0-9.]+ +- +copy$`, unified)
	assert.Regexp(t, `(?m)^sync/idle +[0-9.]+ [mun]s +- +- +- `, unified, "the host has nothing to compare that with")
	for _, family := range []string{"copy-out/device-pinned", "copy/device-device", "fill/shared", "enqueue/copy-in", "event/record", "event/record-wait",
		"alloc/hal", "alloc/pool", "alloc/buffer", "buffer/acquire-read", "buffer/acquire-readwrite", "buffer/view", "launch/hal", "launch/kernel", "across/host:1-host:0", "buffer/round-trip"} {
		assert.Contains(t, discrete, "\n"+family+" ", family)
	}
	assert.Regexp(t, `^\d+ measurements in \d+ s, \d+ unsteady, 0 failed$`, lastLine(stdout))
}

func TestBenchJSON(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	only := "^(copy|fill|event|sync|across|buffer/view)"
	args := []string{"-backend", "host", "-max-size", "1KiB", "-only", only, "-json"}
	stdout, stderr, status := program(t, append(args, "-reps", "3")...)
	require.Equal(t, 0, status, "%s%s", stdout, stderr)
	got := decode[report](t, stdout)
	assert.True(t, got.Simulated)
	assert.False(t, got.Interrupted)
	assert.Equal(t, 3, got.Reps)
	assert.Zero(t, got.TimeSeconds)
	assert.EqualValues(t, 1024, got.MaxSize)
	assert.Contains(t, got.Machine, "processors, ")
	assert.Equal(t, timing.Version(), got.Version)
	assert.NotZero(t, got.Date)
	assert.Positive(t, got.Seconds)
	require.Len(t, got.Devices, 2)
	assert.Empty(t, got.Failed)

	require.NotEmpty(t, got.Results)
	for _, r := range got.Results {
		assert.Equal(t, r.Device == "host:1" || r.To == "host:1", r.Simulated, r.Name)
		assert.Regexp(t, only, r.Name)
		assert.Equal(t, 3, r.Pairs)
		assert.Positive(t, r.OursBatch)
		ordered(t, r.Ours)
		if r.Family == "sync/idle" {
			assert.Nil(t, r.Raw)
			assert.Nil(t, r.Ratio)
			assert.Zero(t, r.RawBatch)
			continue
		}
		ordered(t, *r.Raw)
		ordered(t, *r.Ratio)
		assert.NotEmpty(t, r.Calls, r.Name)
		if r.Size > 0 {
			assert.Equal(t, r.Family+"/"+sizeName(r.Size), r.Name)
			assert.InEpsilon(t, float64(r.Size)/r.Ours.Median*1e9, r.OursRate, 1e-6)
			assert.InEpsilon(t, float64(r.Size)/r.Raw.Median*1e9, r.RawRate, 1e-6)
		} else {
			assert.Equal(t, r.Family, r.Name)
			assert.Zero(t, r.OursRate)
		}
	}
}

func ordered(t *testing.T, s timing.Summary) {
	t.Helper()
	assert.Positive(t, s.Min)
	assert.True(t, slices.IsSorted([]float64{s.Min, s.Q1, s.Median, s.Q3, s.Max}), "%+v", s)
}

// Every field that -json prints is explained in the document.
func TestBenchFieldsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/performance.md")
	require.NoError(t, err)
	for _, v := range []any{report{}, result{}, missing{}, timing.Summary{}} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			assert.NotEmpty(t, name, "%s.%s", typ, typ.Field(i).Name)
			assert.Contains(t, string(doc), "`"+name+"`", typ)
		}
	}
	assert.NoError(t, timing.Marked("../../docs/performance.md", "bench"))
	for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(doc), -1) {
		_, err := os.Stat(filepath.Join("../../docs", link[1]))
		assert.NoError(t, err, "the document leads there")
	}
}

func TestBenchRefusesWrongUsage(t *testing.T) {
	noMarkers := filepath.Join(t.TempDir(), "a.md")
	require.NoError(t, os.WriteFile(noMarkers, []byte("text\n"+docEnd+"\n"+docBegin+"\n"), 0o644))
	for _, c := range []struct{ args, says string }{
		{"-only (", "error parsing regexp"},
		{"-max-size big", "invalid syntax"},
		{"-max-size 3", "not between 4B and 16GiB"},
		{"-max-size 17GiB", "not between 4B and 16GiB"},
		{"-time 0s", "above 0"},
		{"-reps -1", "above 0"},
		{"-plot no/such/folder/a.svg", "no such file"},
		{"-doc " + noMarkers, "lacks the markers"},
		{"-doc no/such.md", "open no/such.md: "},
		{"surplus", "there are no arguments"},
		{"-surplus", "flag provided but not defined: -surplus"},
	} {
		stdout, stderr, status := program(t, strings.Fields(c.args)...)
		assert.Equal(t, 2, status, c.args)
		assert.Contains(t, stderr, c.says, c.args)
		assert.Empty(t, stdout, c.args)
	}
	for _, args := range []string{"-only nothing/like/this", "-backend nosuch"} {
		_, stderr, status := program(t, strings.Fields(args)...)
		assert.Equal(t, 1, status, args)
		assert.Contains(t, stderr, "no ", args)
	}
}

func TestBenchLists(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	stdout, _, status := program(t, "-list", "-backend", "host", "-max-size", "100KiB", "-only", "copy-in|across")
	require.Equal(t, 0, status)
	assert.Regexp(t, `(?m)^copy-in/pageable-device +4B 64B 1KiB 16KiB 100KiB +host:0 host:1 +a copy, and the wait for it$`, stdout)
	assert.Regexp(t, `(?m)^across/host:1-host:0 +4B 16KiB +host:1 +hal.CopyPeer`, stdout)
	assert.Regexp(t, `^\d+ measurements$`, lastLine(stdout))
}

// Calls that do not do what they should have no figure.
func TestBenchFindsOutWhatDoesNothing(t *testing.T) {
	for _, c := range []struct{ device, only string }{{"broken:0", "^fill/device/64B"}, {"lossy:1", "^copy-in/pageable-device/64B"}} {
		stdout, stderr, status := program(t, quick("-device", c.device, "-only", c.only)...)
		assert.Equal(t, 1, status, stdout)
		assert.Empty(t, stderr)
		assert.Contains(t, stdout, "\nFAILED\n"+c.device+" ")
		assert.Contains(t, stdout, "our call: the destination does not have the bytes of the source")
		assert.Equal(t, "0 measurements", lastLine(stdout)[:14])
		assert.True(t, strings.HasSuffix(lastLine(stdout), " 1 failed"))
	}
	assert.Zero(t, alteredOpen.Load(), "devices left open")
}

// Where nothing is known to compare with, our figures stand alone.
func TestBenchWithoutAPeer(t *testing.T) {
	stdout, stderr, status := program(t, quick("-device", "lossy:0", "-only", "^(fill/device|event/record$)", "-max-size", "4KiB", "-json")...)
	require.Equal(t, 0, status, "%s%s", stdout, stderr)
	got := decode[report](t, stdout)
	require.NotEmpty(t, got.Results)
	for _, r := range got.Results {
		assert.Nil(t, r.Ratio, r.Name)
		assert.Empty(t, r.Calls)
	}
	require.Len(t, got.Skipped, 1)
	assert.Equal(t, missing{"lossy:0", "comparison", "halyard knows no calls to compare the backend lossy with"}, got.Skipped[0])
	assert.Zero(t, alteredOpen.Load(), "devices left open")
}

func TestBenchOfDevicesThatDoNotOpen(t *testing.T) {
	stdout, _, status := program(t, quick("-device", "shy:0,host:0", "-only", "sync/idle")...)
	assert.Equal(t, 1, status)
	assert.Contains(t, stdout, "FAILED\nshy:0: open: not supported: not in this light")
	assert.Contains(t, stdout, "\nsync/idle ", "the others are measured")
	_, stderr, status := program(t, "-device", "host:99")
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, "no such device")
	_, stderr, status = program(t, "-backend", "odd")
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, "tried libodd.so.2")
}

// An interrupted run prints what it has, and writes no files.
func TestBenchIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	opened := 0
	whenOpened = func() {
		if opened++; opened == 2 { // the first is to see whether it opens
			cancel()
		}
	}
	t.Cleanup(func() { whenOpened = func() {} })
	picture := filepath.Join(t.TempDir(), "a.svg")
	stdout, stderr, status := programIn(t, ctx, quick("-device", "host:0,lossy:0", "-only", "^(sync/idle|fill/device/4B)$", "-plot", picture)...)
	assert.Equal(t, 1, status)
	assert.Equal(t, "devices: interrupted\n", stderr)
	assert.Contains(t, stdout, "\nsync/idle ")
	assert.Contains(t, lastLine(stdout), "2 measurements in ")
	assert.Contains(t, lastLine(stdout), ", 0 failed; the run was interrupted")
	_, err := os.Stat(picture)
	assert.ErrorIs(t, err, os.ErrNotExist)
	// One that opens when nobody waits for it any more is closed where it was opened.
	assert.Eventually(t, func() bool { return alteredOpen.Load() == 0 }, 10*time.Second, time.Millisecond, "devices left open")
}

// A device without room for the largest size is measured up to what it has.
func TestBenchSizesFitTheDevice(t *testing.T) {
	o := &options{most: 64 << 20}
	assert.EqualValues(t, 64<<20, o.fitting(hal.Info{MaxAlloc: 1 << 40, TotalMemory: 1 << 40}))
	assert.EqualValues(t, 1<<20, o.fitting(hal.Info{MaxAlloc: 1<<20 + 3, TotalMemory: 1 << 40}))
	assert.EqualValues(t, 4<<20, o.fitting(hal.Info{MaxAlloc: 1 << 40, TotalMemory: 16 << 20}))
	assert.EqualValues(t, 64<<20, o.fitting(hal.Info{}), "a device that does not tell")
	assert.Equal(t, []uint64{4, 64, 1 << 10, 16 << 10, 256 << 10, 4 << 20, 16 << 20, 64 << 20}, ladder(64<<20, 16))
	assert.Equal(t, []uint64{4}, ladder(4, 16))
	assert.Equal(t, []uint64{4, 64, 100}, ladder(100, 16))
}

const docBegin, docEnd = "<!-- bench: begin -->", "<!-- bench: end -->"

// sampleRun is a run with figures for every curve on two devices.
func sampleRun() *report {
	r := &report{Version: "v0", Machine: "Test & <Processor>, 2 processors, linux/amd64", Go: "go1.99", Simulated: true, Processors: 2}
	for i, d := range []device{{Device: "host:0", Name: "a host", Unified: true}, {Device: "cuda:0", Name: "a device", Tier: "usm", Simulated: true}} {
		r.Devices = append(r.Devices, d)
		for j, family := range curves {
			for _, n := range ladder(64<<20, 16) {
				ours, raw := 100+float64(n)/float64(j+1), 90+float64(n)/float64(j+2)
				res := result{Device: d.Device, Simulated: d.Simulated, Family: family, Name: family + "/" + sizeName(n), Size: n,
					Ours: timing.Summarize([]float64{ours}), Calls: "memcpy", OursRate: float64(n) / ours * 1e9, Pairs: 1, OursBatch: 1}
				if i == 0 {
					b, q := timing.Summarize([]float64{raw}), timing.Summarize([]float64{ours / raw})
					res.Raw, res.Ratio, res.RawRate = &b, &q, float64(n)/raw*1e9
				}
				r.Results = append(r.Results, res)
			}
		}
		r.Results = append(r.Results, result{Device: d.Device, Simulated: d.Simulated, Family: "sync/idle", Name: "sync/idle", Ours: timing.Summarize([]float64{50})})
	}
	return r
}

// texts parses an SVG file and returns what it says.
func texts(t *testing.T, path string) (said []string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	d := xml.NewDecoder(f)
	inText := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return said
		}
		require.NoError(t, err)
		switch x := token.(type) {
		case xml.StartElement:
			inText = x.Name.Local == "text"
		case xml.CharData:
			if inText {
				said = append(said, string(x))
			}
		case xml.EndElement:
			inText = false
		}
	}
}

func TestPlotHasTheSeries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.svg")
	r := sampleRun()
	require.NoError(t, r.plot(path))
	said := texts(t, path)
	all := strings.Join(said, "\n")
	assert.Contains(t, all, "SIMULATED")
	assert.Contains(t, all, "Test & <Processor>")
	assert.Contains(t, all, r.Date.Format("2006-01-02"))
	assert.Contains(t, all, "cuda:0  a device, usm, discrete, simulated")
	for _, family := range curves {
		assert.Equal(t, 2, countOf(said, family), "a legend for each device")
	}
	for _, label := range []string{"4 B", "64 MiB", "GB/s", "our time / raw time"} {
		assert.Contains(t, said, label)
	}
	assert.Contains(t, all, "nothing to compare with", "the second device has no raw figures")
	rates, ratios := r.rates(r.Devices[0]), r.ratios(r.Devices[0])
	require.Len(t, rates.Lines, 2*len(curves), "ours and the raw call's")
	require.Len(t, ratios.Lines, len(curves))
	for i, l := range ratios.Lines {
		assert.Len(t, l.Low, len(l.X), "quartiles")
		assert.Len(t, rates.Lines[2*i].X, len(l.X))
		assert.True(t, rates.Lines[2*i+1].Dashed)
	}

	r.Simulated = false
	r.Devices = r.Devices[:1]
	require.NoError(t, r.plot(path))
	assert.NotContains(t, strings.ToLower(strings.Join(texts(t, path), "\n")), "simulated")

	// What took no time at all, as a coarse clock may say, can be drawn.
	for i := range r.Results {
		zero := timing.Summary{}
		r.Results[i].OursRate, r.Results[i].RawRate, r.Results[i].Ratio, r.Results[i].Raw = 0, 0, &zero, &zero
	}
	require.NoError(t, r.plot(path))

	assert.Error(t, (&report{Devices: r.Devices}).plot(path))
	assert.Error(t, r.plot(t.TempDir()+"/no/a.svg"))
}

func countOf(list []string, s string) int {
	n := 0
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

// A plot of one size, or of figures all alike, has axes all the same.
func TestPlotOfLittle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.svg")
	stdout, stderr, status := program(t, quick("-device", "host:0", "-only", "^fill/device/4B$", "-plot", path)...)
	require.Equal(t, 0, status, "%s%s", stdout, stderr)
	said := texts(t, path)
	assert.Contains(t, said, "fill/device")
	assert.Contains(t, said, "4 B")
}

func TestDocumentIsReplacedBetweenTheMarkers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.md")
	require.NoError(t, os.WriteFile(path, []byte("# before\n"+docBegin+"\nold\n"+docEnd+"\nafter\n"), 0o644))
	r := sampleRun()
	for range 2 {
		require.NoError(t, r.document(path, filepath.Join(dir, "pictures", "a.svg")))
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		text := string(b)
		assert.True(t, strings.HasPrefix(text, "# before\n"+docBegin+"\n\n"))
		assert.True(t, strings.HasSuffix(text, docEnd+"\nafter\n"))
		assert.Equal(t, 1, strings.Count(text, docBegin))
		assert.NotContains(t, text, "old")
		assert.Contains(t, text, "; Halyard at v0; go1.99.")
		assert.Contains(t, text, "](pictures/a.svg)")
		assert.Contains(t, text, "**Some of these devices are simulated.**")
		assert.Contains(t, text, "\n### cuda:0\n\na device, usm, discrete, simulated.\n")
		assert.Contains(t, text, "| sync/idle | 50.0 ns | - | - | - | 0 |  |")
		assert.Contains(t, text, "| host:0 fill/device | ", "among what is slower")
		columns := 0
		for line := range strings.SplitSeq(text, "\n") {
			if n := strings.Count(line, "|"); n == 0 {
				columns = 0
			} else {
				if columns == 0 {
					columns = n
				}
				assert.Equal(t, columns, n, "%s", line)
			}
		}
	}
}

func TestBenchWritesTheDocument(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.md")
	require.NoError(t, os.WriteFile(path, []byte(docBegin+"\n"+docEnd+"\n"), 0o644))
	_, stderr, status := program(t, quick("-device", "host:0", "-max-size", "64", "-only", "copy/|event", "-doc", path)...)
	require.Equal(t, 0, status, stderr)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Regexp(t, `\| copy/device-device \| ~?[0-9.]+ \| ~?[0-9.]+ \|`, string(b))
	assert.Contains(t, string(b), "| event/record-wait | ")
}

func TestFigures(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.00042: "0.0004", 0.01: "0.01", 0.999: "1.00", 1: "1.00", 9.994: "9.99", 9.996: "10.0", 12.34: "12.3", 99.96: "100", 1234.5: "1234"} {
		assert.Equal(t, want, figure(v), "%v", v)
	}
	for v, want := range map[float64]string{5: "5.00 ns", 999.4: "999 ns", 999.6: "1.00 us", 1.5e6: "1.50 ms", 2e9: "2.00 s", 120e9: "120 s"} {
		assert.Equal(t, want, duration(v), "%v", v)
	}
}

// The JSON of a run that measured nothing still has its lists.
func TestEmptyRunIsValidJSON(t *testing.T) {
	b, err := json.Marshal(newReport(&options{time: 1}, nil))
	require.NoError(t, err)
	assert.Contains(t, string(b), `"devices":[]`)
	assert.Contains(t, string(b), `"results":[]`)
}
