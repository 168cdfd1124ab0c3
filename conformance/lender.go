package conformance

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/go-halyard/halyard/hal"
)

// The check of another process's memory starts the program again, with the same arguments. In that process the suite runs no check, but
// lends memory: it allocates, exports, and prints what the parent asks for.

const (
	lenderVariable = "HALYARD_CONFORMANCE_LENDER" // the name of the device that lends
	lenderPrefix   = "halyard-lender "            // of the lines that the lender prints
)

// lentSizes are the sizes of the memories that are lent, with their alignments.
var lentSizes = [][2]uint64{{5000, 0}, {3000, 1 << 16}, {70_000, 1 << 16}}

// lent returns what memory i holds at first.
func lent(i int) []byte {
	rng := rand.New(rand.NewPCG(uint64(i), 1))
	b := make([]byte, lentSizes[i][0])
	for j := range b {
		b[j] = byte(rng.Uint32())
	}
	return b
}

// testArguments are the arguments with which a test binary runs one test.
func testArguments(name string) []string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return []string{"-test.run=" + strings.Join(parts, "/"), "-test.v=false"}
}

// lends reports whether this process lends memory. If it lends that of the harness's device it does not return.
func (p *plan) lends(ctx context.Context) bool {
	name := os.Getenv(lenderVariable)
	if name == "" {
		return false
	}
	d, err := p.Open(ctx)
	if err == nil && d.Name() != name {
		_ = d.Close()
		return true
	}
	if err == nil {
		err = lend(ctx, d, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
	return true
}

// lend lends memory until in ends.
func lend(ctx context.Context, d *hal.Device, in io.Reader, out io.Writer) error {
	var mems []*hal.Memory
	text := "lends"
	for i, size := range lentSizes {
		m, err := d.Alloc(hal.KindDevice, size[0], min(size[1], d.Info().MaxAlign))
		if err != nil {
			return err
		}
		mems = append(mems, m)
		token, err := m.IPCHandle()
		if err != nil {
			return err
		}
		raw, err := token.MarshalBinary()
		if err := errors.Join(err, d.Write(ctx, m.All(), lent(i))); err != nil {
			return err
		}
		text += " " + hex.EncodeToString(raw)
	}
	fmt.Fprintf(out, "\n%s%s\n", lenderPrefix, text)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var i int
		if _, err := fmt.Sscanf(lines.Text(), "read %d", &i); err != nil {
			return err
		}
		b := make([]byte, mems[i].Size())
		if err := d.Read(ctx, b, mems[i].All()); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s%s\n", lenderPrefix, hex.EncodeToString(b))
	}
	var err error
	for _, m := range mems {
		err = errors.Join(err, m.Close())
	}
	return errors.Join(err, d.Close())
}

// lender is another process that lends memory.
type lender struct {
	t     *trial
	in    io.WriteCloser
	lines *bufio.Scanner
}

// lender starts a process that lends memory of the device under test, and ends it at the end of the check.
func (t *trial) lender() *lender {
	path, err := os.Executable()
	t.must(err, "find the program")
	cmd := exec.CommandContext(t.ctx, path, t.p.arguments...)
	cmd.Env = append(os.Environ(), lenderVariable+"="+t.dev.Name())
	in, err := cmd.StdinPipe()
	t.must(err, "start another process")
	out, err := cmd.StdoutPipe()
	t.must(err, "start another process")
	said := new(strings.Builder)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Skipf("this program cannot be started again: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the other process: %v %s", err, said)
		}
	})
	l := &lender{t, in, bufio.NewScanner(out)}
	l.lines.Buffer(nil, 1<<20)
	return l
}

// next returns what the lender prints next.
func (l *lender) next() string {
	for l.lines.Scan() {
		if text, ok := strings.CutPrefix(l.lines.Text(), lenderPrefix); ok {
			return text
		}
	}
	l.t.Fatalf("the other process says no more: %v", l.lines.Err())
	return ""
}

// read returns what the lender finds in its memory i.
func (l *lender) read(i int) []byte {
	_, err := fmt.Fprintf(l.in, "read %d\n", i)
	l.t.must(err, "ask the other process")
	b, err := hex.DecodeString(l.next())
	l.t.must(err, "read what the other process says")
	return b
}

// anotherProcess opens memory of another process, more than once, and reads and writes it.
func anotherProcess(t *trial) {
	l := t.lender()
	var tokens []hal.IPCHandle
	for _, text := range strings.Fields(l.next())[1:] {
		raw, err := hex.DecodeString(text)
		t.must(err, "decode")
		var token hal.IPCHandle
		t.must(token.UnmarshalBinary(raw), "unmarshal")
		tokens = append(tokens, token)
	}
	open := func(k hal.IPCHandle) *hal.Memory {
		m, err := t.dev.OpenIPC(k)
		t.must(err, "open memory of another process")
		t.Cleanup(func() { t.must(m.Close(), "close memory of another process") })
		return m
	}
	free := t.dev.Usage().Held
	for i, k := range tokens {
		want := lent(i)
		m, again := open(k), open(k)
		t.want(m.Size() == k.Size && m.Kind() == hal.KindDevice, "%d bytes of %v memory, want %d", m.Size(), m.Kind(), k.Size)
		t.same(t.all(m), want, "memory %d of another process", i)
		_, err := m.IPCHandle()
		t.wantKind(err, hal.ErrUnsupported, "export what was opened")
		t.put(m, 100, []byte("written by the other"))
		copy(want[100:], "written by the other")
		t.same(l.read(i), want, "memory %d, as its own process sees it", i)
		t.same(t.all(again), want, "memory %d, opened twice", i)
		t.must(m.Close(), "close")
		t.same(t.all(again), want, "memory %d, opened twice and closed once", i)
		part := k
		part.Size = 150
		t.same(t.all(open(part)), want[:150], "the first 150 bytes of memory %d", i)
		part.Size, part.Offset = 100, k.Offset+50
		t.same(t.all(open(part)), want[50:150], "bytes 50 to 150 of memory %d", i)
		bad := k
		bad.Size += 1 << 30
		t.wantKind(made(t.dev.OpenIPC(bad)), hal.ErrOutOfRange, "open more than there is")
		s := t.stream(t.dev)
		t.must(s.Fill(region(again, 0, 64), hal.Pattern8(0x71)), "fill")
		t.sync(s)
		copy(want, repeated(hal.Pattern8(0x71), 64))
		t.same(l.read(i), want, "memory %d, filled by another process", i)
	}
	t.want(t.dev.Usage().Held == free, "memory of another process counts as held: %d bytes, before %d", t.dev.Usage().Held, free)
	// All of these memories are still open. Memory that was closed can be opened again.
	m := open(tokens[0])
	t.must(m.Close(), "close")
	t.want(len(t.all(open(tokens[0]))) == int(tokens[0].Size), "opened once more")
}
