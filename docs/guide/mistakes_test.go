package guide

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip/rtc"
	"github.com/go-halyard/halyard/internal/testing/hooked"
	"github.com/go-halyard/halyard/internal/testing/small"
	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/load"
	"github.com/go-halyard/halyard/kernel"
)

// The functions of this part make mistakes. The page shows their code.

func notBuilt(ctx context.Context) error {
	q := halyard.Open(ctx, "cuda:0")
	return q.Close()
}

func noGrid(q *halyard.Queue) {
	x := halyard.New[int32](q, 10)
	small.Number(q, x) // its kernel is: out[t.Global(0)] = int32(t.Global(0))
}

func oneDimension(q *halyard.Queue) {
	image := halyard.New[int32](q, 640*480)
	small.Paint(q.Over(640*480), small.Frame{Width: 640, Height: 480}, image)
}

func outOfRange(q *halyard.Queue) {
	x, y := halyard.New[float32](q, 3), halyard.New[float32](q, 4)
	small.Saxpy(q, 2, x, y) // a thread for each element of y, and x is shorter
	fmt.Println(y.Values()) // [0 0 0 0]
}

func otherLength(q *halyard.Queue) {
	x := halyard.New[float32](q, 100)
	x.SetValues(make([]float32, 80))
}

func brokenRows(q *halyard.Queue) {
	image := halyard.New[float32](q, 100)
	small.Mirror(q, image.InRows(30), image.InRows(30))
}

func closedBuffer(q *halyard.Queue) {
	x, y := halyard.New[float32](q, 4), halyard.New[float32](q, 4)
	x.Close()
	small.Saxpy(q, 2, x, y)
}

func closedQueue(q *halyard.Queue) {
	x := halyard.From(q, []float32{1, 2, 3})
	if err := q.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(x.Values()) // [0 0 0]
}

func callInUpdate(q *halyard.Queue) {
	x := halyard.New[float32](q, 4)
	x.Update(func(s []float32) {
		s[0] = x.At(1) // waits for the end of this function
	})
}

func writeInView(q *halyard.Queue) {
	x := halyard.New[float32](q, 4)
	x.View(func(s []float32) {
		s[0] = 1
	})
}

func leaseKept(ctx context.Context, q *halyard.Queue) {
	x := halyard.New[float32](q, 4)
	lease, err := x.Buffer().Acquire(ctx, q.Stream(), coherence.ReadWrite)
	check(err)
	fmt.Println(lease) // and no lease.Release()
	fmt.Println(x.Values())
}

func launchOnly(q *halyard.Queue) {
	x, y := halyard.New[float32](q, 4), halyard.New[float32](q, 4)
	step := q.Record(func(q *halyard.Queue) {
		x.Fill(0)
		small.Saxpy(q, 2, x, y)
	})
	step.Run()
}

func askFirst(q *halyard.Queue, y *halyard.Buffer[float32]) {
	values := y.Values() // waits for the kernels
	if err := q.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(values)
}

func unread(ctx context.Context) {
	q := halyard.Open(ctx, "host")
	x := halyard.New[float32](q, 4)
	fmt.Println(x.At(4)) // 0; nothing reads q.Err() or q.Close()
}

func shortDeadline(stream *hal.Stream) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	q := halyard.On(ctx, stream)
	x, y := halyard.New[float32](q, 4), halyard.New[float32](q, 4)
	small.Saxpy(q, 2, x, y) // the first launch compiles
	return q.Close()
}

// The functions above, by the headings of the page.

// mistake is a section of the page.
type mistake struct {
	heading string
	code    string // the function that makes the mistake, if the page shows it
	message func(t *testing.T) string
}

var mistakes = []mistake{
	{"A device that the program was not built for", "notBuilt", opening(hal.ErrNotBuilt)},
	{"A driver that is not installed", "", opening(hal.ErrUnavailable)},
	{"A compiler that is not installed", "", withoutCompiler},
	{"A compiler that is not installed", "", compiledWithout},
	{"A grid that the launcher does not know", "noGrid", onQueue(noGrid)},
	{"A grid with too few dimensions", "oneDimension", onQueue(oneDimension)},
	{"An index out of range", "outOfRange", onQueue(outOfRange)},
	{"An index out of range", "outOfRange", checked},
	{"A length that does not fit", "otherLength", onQueue(otherLength)},
	{"A length that does not fit", "brokenRows", onQueue(brokenRows)},
	{"Something closed is used", "closedBuffer", onQueue(closedBuffer)},
	{"Something closed is used", "closedQueue", onQueue(closedQueue)},
	{"A call that waits for itself", "callInUpdate", within(2*time.Second, callInUpdate)},
	{"A write in a View", "writeInView", guarded},
	{"A lease that is not released", "leaseKept", leased},
	{"A step that does more than launch", "launchOnly", onQueue(launchOnly)},
	{"Results are zeros", "askFirst", zeros},
	{"An error that nobody reads", "unread", leaked},
	{"A deadline that ends while kernels are compiled", "shortDeadline", whileCompiling},
}

// onQueue returns the error that a function leaves on a queue of the host.
func onQueue(make func(*halyard.Queue)) func(*testing.T) string { return within(time.Minute, make) }

// within is onQueue with the time after which the queue's context ends.
func within(most time.Duration, make func(*halyard.Queue)) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Parallel()
		ctx, cancel := context.WithTimeout(context.Background(), most)
		defer cancel()
		q := halyard.Open(ctx, "host")
		make(q)
		err := q.Close()
		require.Error(t, err)
		return err.Error()
	}
}

// opening returns the error of opening a CUDA device, which depends on whether the backend is linked.
func opening(kind error) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Setenv("HALYARD_CUDA_LIBRARY", "/none/libcuda.so.1")
		t.Setenv("HALYARD_DEVICES", "host") // those that the error names
		err := notBuilt(t.Context())
		if !errors.Is(err, kind) || kind == hal.ErrUnavailable && !strings.Contains(err.Error(), "/none/") {
			t.Skip("depends on the build tags: ", err) // a linked build loads no library
		}
		return err.Error()
	}
}

// withoutCompiler returns the error of a launch on a device that takes CUDA C++ and has no compiler.
func withoutCompiler(t *testing.T) string {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "cuda"})}
	b.Info = func(i driver.Info) driver.Info {
		i.Compute.Language = driver.LanguageCUDA
		return i
	}
	dev, err := hal.OpenWith(t.Context(), b, 0)
	require.NoError(t, err)
	stream, err := dev.NewStream()
	require.NoError(t, err)
	q := halyard.On(t.Context(), stream)
	q.Fail(kernel.New(kernel.Source{Name: "main", CUDA: "text"}).Kernel("saxpy").Launch(t.Context(), stream, hal.Over(3)))
	err = q.Close()
	require.NoError(t, hal.CloseAll(dev, stream))
	require.Error(t, err)
	return err.Error()
}

// compiledWithout returns the error of the compiler's own.
func compiledWithout(t *testing.T) string {
	t.Setenv("HALYARD_NVRTC_LIBRARY", "/none/libnvrtc.so")
	_, err := rtc.Load(rtc.NVRTC)
	require.Error(t, err)
	return err.Error()
}

// again runs a test of this package in a process with another environment, and returns what it prints.
func again(t *testing.T, test, env string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), env, "HALYARD_MISTAKE="+test)
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// line returns the line of a text that has a word.
func line(t *testing.T, text, word string) string {
	t.Helper()
	for l := range strings.Lines(text) {
		if strings.Contains(l, word) {
			return strings.TrimSpace(l)
		}
	}
	t.Fatalf("no %q in\n%s", word, text)
	return ""
}

func inChild(t *testing.T) {
	t.Helper()
	if os.Getenv("HALYARD_MISTAKE") != t.Name() {
		t.Skip("another test runs this one in a process of its own")
	}
}

func TestMistakeOnADevice(t *testing.T) {
	inChild(t)
	q := halyard.Open(context.Background(), "opencl:0")
	outOfRange(q)
	fmt.Println(q.Close())
}

func checked(t *testing.T) string {
	dev, err := hal.Open(t.Context(), "opencl:0")
	if err != nil {
		t.Skip(err)
	}
	require.NoError(t, dev.Close())
	return line(t, again(t, "TestMistakeOnADevice", "HALYARD_CHECK=bounds"), "small.go")
}

func TestMistakeInAView(t *testing.T) {
	inChild(t)
	writeInView(halyard.Open(context.Background(), "host"))
}

func guarded(t *testing.T) string {
	if runtime.GOOS != "linux" {
		t.Skip("guarded buffers need Linux")
	}
	return line(t, again(t, "TestMistakeInAView", "HALYARD_DEBUG=guard"), "fault address")
}

func TestMistakeWithALease(t *testing.T) {
	inChild(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	q := halyard.Open(ctx, "host")
	leaseKept(context.Background(), q)
	fmt.Println(q.Err())
}

func leased(t *testing.T) string {
	return line(t, again(t, "TestMistakeWithALease", "HALYARD_DEBUG="), "has to wait for")
}

// output is text that goroutines write.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func leaked(t *testing.T) string {
	var out output
	flags := log.Flags()
	log.SetFlags(0)
	log.SetOutput(&out)
	defer func() {
		log.SetFlags(flags)
		log.SetOutput(os.Stderr)
	}()
	unread(context.Background())
	require.Eventually(t, func() bool {
		runtime.GC()
		return strings.Contains(out.String(), "At: out of range")
	}, time.Minute, time.Millisecond)
	return line(t, out.String(), "At: out of range")
}

// zeros returns what is printed of a buffer whose queue has an error.
func zeros(t *testing.T) string {
	q := halyard.Open(t.Context(), "host")
	y := halyard.From(q, []float32{1, 2})
	askFirst(q, y)
	y.At(2)
	require.Equal(t, []float32{0, 0}, y.Values())
	require.Error(t, q.Close())
	return y.String()
}

func whileCompiling(t *testing.T) string {
	hold := make(chan struct{})
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "device"})}
	b.Call = func(op string, _ int) error {
		if op == "Load" {
			<-hold
		}
		return nil
	}
	dev, err := hal.OpenWith(t.Context(), b, 0)
	require.NoError(t, err)
	stream, err := dev.NewStream()
	require.NoError(t, err)
	late := shortDeadline(stream)
	close(hold)
	require.NoError(t, hal.CloseAll(dev, stream))
	require.Error(t, late)
	return late.Error()
}

// mistakesPage is the page that this file is about.
const mistakesPage = "mistakes.md"

var (
	place   = regexp.MustCompile(`[^\s("=]*\.go(:\d+){0,2}`)
	number  = regexp.MustCompile(`0x[0-9a-f]+`)
	missing = regexp.MustCompile(`\(/none/[^)]*\)`) // why the system's loader finds no library
)

// said is a message without what differs from run to run, and from system to system.
func said(message string) string {
	message = missing.ReplaceAllString(place.ReplaceAllString(message, "LINE"), "(NONE)")
	return strings.TrimSpace(number.ReplaceAllString(message, "ADDRESS"))
}

// sections returns the parts of the page by their headings.
func sections(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, part := range regexp.MustCompile(`\n###? `).Split(read(t, mistakesPage), -1)[1:] {
		heading, text, _ := strings.Cut(part, "\n")
		found[heading] = text
	}
	return found
}

// shown returns the messages that a section shows. A line that is indented further continues the one before it.
func shown(section string) (all []string) {
	for _, l := range strings.Split(unfenced(section), "\n") {
		if m, ok := strings.CutPrefix(l, "        "); ok {
			all[len(all)-1] += " " + m
		} else if m, ok := strings.CutPrefix(l, "    "); ok {
			all = append(all, m)
		}
	}
	for i := range all {
		all[i] = said(all[i])
	}
	return all
}

// fenced returns the code of Go in a section.
func fenced(section string) (all []string) {
	for i, part := range strings.Split(section, "```") {
		if text, ok := strings.CutPrefix(part, "go\n"); ok && i%2 == 1 {
			all = append(all, text)
		}
	}
	return all
}

// unfenced is a section without its code.
func unfenced(section string) string {
	parts := strings.Split(section, "```")
	for i := range parts {
		if i%2 == 1 {
			parts[i] = ""
		}
	}
	return strings.Join(parts, "")
}

// The page shows no message that no test compares.
func TestEachMessageIsCompared(t *testing.T) {
	compared := map[string]int{generatedMissing: 1, generatedOld: 1, generatedOther: 1}
	for _, m := range mistakes {
		compared[m.heading]++
	}
	for heading, section := range sections(t) {
		for _, f := range fenced(section) {
			if strings.Contains(f, "halyard:kernel") {
				compared[heading]++
			}
		}
		assert.Len(t, shown(section), compared[heading], heading)
	}
}

// Each mistake of a program gives the message that the page shows, and the page shows the code that made it.
func TestMistakesGiveTheirMessages(t *testing.T) {
	page := sections(t)
	source := read(t, "mistakes_test.go")
	for heading, section := range page {
		for _, f := range fenced(section) {
			assert.True(t, strings.Contains(f, "halyard:kernel") || strings.Contains(source, "\n"+f), "%s: the code is not in the test", heading)
		}
	}
	for _, m := range mistakes {
		t.Run(m.heading+"/"+m.code, func(t *testing.T) {
			section, found := page[m.heading]
			require.True(t, found, "the page has no such heading")
			if m.code != "" {
				_, body, _ := strings.Cut(source, "\nfunc "+m.code+"(")
				body, _, _ = strings.Cut(body, "\n}\n")
				ok := false
				for _, f := range fenced(section) {
					ok = ok || strings.Contains("\n"+body+"\n", "\n"+f)
				}
				assert.True(t, ok, "the section does not show the code of %s", m.code)
			}
			message := m.message(t)
			t.Log(message)
			assert.Contains(t, shown(section), said(message))
		})
	}
}

// The kernels of the page are refused or warned of as it says.
func TestMistakesInKernels(t *testing.T) {
	count := 0
	for heading, section := range sections(t) {
		for _, text := range fenced(section) {
			if !strings.Contains(text, "halyard:kernel") {
				continue
			}
			count++
			t.Run(heading, func(t *testing.T) {
				message := translated(t, text)
				t.Log(message)
				assert.Contains(t, shown(section), said(message))
			})
		}
	}
	assert.Greater(t, count, 3)
}

// translated returns what the command says of a kernel.
func translated(t *testing.T, text string) string {
	t.Helper()
	dir := inModule(t, map[string]string{"k.go": "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n" + text})
	packages, err := translate.Load(t.Context(), dir, ".")
	if err == nil {
		var made *translate.Output
		if made, err = packages[0].Translate(); err == nil {
			require.Len(t, made.Warnings, 1)
			return made.Warnings[0].Pos.String() + ": warning: " + made.Warnings[0].Text
		}
	}
	var bad load.Errors
	require.True(t, errors.As(err, &bad), "%v", err)
	require.Len(t, bad, 1)
	return bad[0].Error()
}

// inModule makes a folder of this module that is in no pattern of the go command.
func inModule(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "_mistakes-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// The headings about generated files.
const (
	generatedMissing = "The generated file is missing"
	generatedOld     = "A kernel changed without go generate"
	generatedOther   = "A kernel has other parameters"
)

// What Go and the first launch say of generated files that are missing or old.
func TestMistakesWithGeneratedFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("short: programs are compiled")
	}
	page := sections(t)
	hello, err := os.ReadFile("../../examples/hello/main.go")
	require.NoError(t, err)
	dir := inModule(t, map[string]string{"main.go": string(hello)})
	run := func(heading, word string, args ...string) {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "HALYARD_DEVICES=host")
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "%s", out)
		message := line(t, strings.ReplaceAll(string(out), "\t", " "), word)
		t.Log(message)
		assert.Contains(t, shown(page[heading]), said(message), "%s\n%s", heading, out)
	}
	run(generatedMissing, "undefined", "build", "-o", os.DevNull, ".")

	packages, err := translate.Load(t.Context(), dir, ".")
	require.NoError(t, err)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	change := func(old, text string) {
		require.Contains(t, string(hello), old)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(strings.Replace(string(hello), old, text, 1)), 0o600))
	}
	change("float32(a * x[i])", "float32(a * x[i] * x[i])")
	run(generatedOld, "has changed", "run", "-ldflags", "-s -w", ".")
	change("x, y []float32)", "x, y []float32, n int)")
	run(generatedOther, "not enough arguments", "build", "-o", os.DevNull, ".")
}
