package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// window is how many bytes of a file are in a buffer at a time.
const window = 64 << 20

// roundTrip is the result of moving a file through all places, as check --file --json prints it.
type roundTrip struct {
	File      string       `json:"file"`
	Bytes     int64        `json:"bytes"`
	Before    string       `json:"sha256_before"`
	After     string       `json:"sha256_after"`
	Equal     bool         `json:"equal"`
	Places    []placeTrip  `json:"places"`
	Pieces    int          `json:"pieces"` // ranges written at different places
	Transfers transferSums `json:"transfers"`
}

type placeTrip struct {
	Place     string `json:"place"`
	Name      string `json:"name"`
	Unified   bool   `json:"unified"`
	Simulated bool   `json:"simulated"`
	Digest    string `json:"sha256"` // of what this place held when it held all of the file
	Equal     bool   `json:"equal"`
}

type transferSums struct {
	Copies       uint64 `json:"copies"`
	BytesCopied  uint64 `json:"bytes_copied"`
	BytesAvoided uint64 `json:"bytes_avoided"`
}

// stop is one place on the way.
type stop struct {
	dev    *hal.Device // nil for the host
	stream *hal.Stream
	sum    hash.Hash // of what was read back there
}

func (s *stop) name() string {
	if s.dev == nil {
		return "host memory"
	}
	return s.dev.Name()
}

// checkFile moves the file through a buffer over all the devices and reports whether it came back unchanged.
func checkFile(cmd *cobra.Command, path string, infos []hal.Info, asJSON bool) error {
	ctx := cmd.Context()
	f, size, err := openFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	m := newMeter(cmd.ErrOrStderr(), size, progress.UnitsBytes)
	trip, err := takeRound(ctx, f, path, infos, window, func(n int) { m.step(int64(n), path) })
	m.stop()
	if err != nil {
		return err
	}
	if asJSON {
		err = writeJSON(cmd.OutOrStdout(), trip)
	} else {
		printTrip(cmd.OutOrStdout(), trip)
	}
	if err == nil && !trip.Equal {
		err = errReported
	}
	return err
}

// openFile opens a regular file that is not empty, and returns its size, beyond which the file is not read. Other files
// are not opened: opening a named pipe can wait for ever, and no signal would end the command then; a device such as
// /dev/zero has no end.
func openFile(path string) (in io.ReadCloser, size int64, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, 0, usage("--file: %w", err)
	case info.IsDir():
		return nil, 0, usage("--file %s: this is a directory; name a file", path)
	case !info.Mode().IsRegular():
		return nil, 0, usage("--file %s: this is a %s; name a regular file", path, fileKind(info.Mode()))
	case info.Size() == 0:
		return nil, 0, usage("--file %s: the file is empty, so there is nothing to move", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, usage("--file: %w", err)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(f, info.Size()), f}, info.Size(), nil
}

func fileKind(m os.FileMode) string {
	switch {
	case m&os.ModeNamedPipe != 0:
		return "pipe"
	case m&os.ModeSocket != 0:
		return "socket"
	case m&os.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// takeRound reads everything from r, in windows of the given length, and moves each through a buffer.
func takeRound(ctx context.Context, r io.Reader, path string, infos []hal.Info, window int, moved func(int)) (trip *roundTrip, err error) {
	trip = &roundTrip{File: path}
	stops := []*stop{{sum: sha256.New()}}
	// If something cannot be closed, that is the error of the trip, unless there was an earlier one.
	release := func(give func() error) {
		if cerr := give(); err == nil && cerr != nil {
			trip, err = nil, cerr
		}
	}
	for _, info := range infos {
		dev, err := hal.Open(ctx, info.Name())
		if err != nil {
			return nil, err
		}
		defer release(dev.Close)
		stream, err := dev.NewStream()
		if err != nil {
			return nil, err
		}
		defer release(stream.Close)
		stops = append(stops, &stop{dev: dev, stream: stream, sum: sha256.New()})
	}
	before, after := sha256.New(), sha256.New()
	data := make([]byte, window)
	var x *buffer.Buffer[byte]
	for {
		n, rerr := readWindow(ctx, r, data)
		if rerr != nil {
			return nil, fmt.Errorf("%s: %w", path, rerr)
		}
		if n == 0 {
			break
		}
		if x == nil {
			if x, err = buffer.New[byte](n); err != nil {
				return nil, err
			}
			defer release(x.Close)
		}
		before.Write(data[:n])
		part, err := x.Slice(0, n)
		if err != nil {
			return nil, err
		}
		pieces, err := takeWindow(ctx, part, data[:n], stops, after)
		if err != nil {
			return nil, err
		}
		trip.Bytes += int64(n)
		trip.Pieces += pieces
		moved(n)
	}
	if x == nil {
		return nil, usage("--file %s: the file is empty, so there is nothing to move", path)
	}
	trip.finish(before, after, stops, infos)
	s := x.Stats()
	trip.Transfers = transferSums{Copies: s.Copies, BytesCopied: s.BytesCopied, BytesAvoided: s.BytesAvoided}
	return trip, nil
}

// readWindow reads until p is full or the input ends; 0 bytes and no error mean that there is no more.
func readWindow(ctx context.Context, r io.Reader, p []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// takeWindow writes data to x in pieces at the places in turn, makes every piece current at every other place alone, one place after
// the other, reads the whole at each place, and finally reads it on the host into after. It returns the number of pieces.
func takeWindow(ctx context.Context, x *buffer.Buffer[byte], data []byte, stops []*stop, after io.Writer) (int, error) {
	count := min(len(data), 3*len(stops)+1)
	pieces := make([]*buffer.Buffer[byte], count)
	for i := range pieces {
		lo, hi := i*len(data)/count, (i+1)*len(data)/count
		piece, err := x.Slice(lo, hi)
		if err != nil {
			return 0, err
		}
		pieces[i] = piece
		if err := stops[i%len(stops)].write(ctx, piece, data[lo:hi]); err != nil {
			return 0, err
		}
	}
	for round := 1; round < len(stops); round++ {
		for i, piece := range pieces {
			if err := stops[(i+round)%len(stops)].own(ctx, piece); err != nil {
				return 0, err
			}
		}
	}
	back := make([]byte, len(data))
	for _, s := range stops {
		if err := s.read(ctx, x, back); err != nil {
			return 0, err
		}
	}
	// The last device becomes the only current place, so that the host has to copy from it.
	if err := stops[len(stops)-1].own(ctx, x); err != nil {
		return 0, err
	}
	err := x.View(ctx, func(p []byte) error {
		_, err := after.Write(p)
		return err
	})
	return count, err
}

// write writes p to the piece at this place.
func (s *stop) write(ctx context.Context, piece *buffer.Buffer[byte], p []byte) error {
	if s.dev == nil {
		return piece.Overwrite(ctx, func(dst []byte) error { copy(dst, p); return nil })
	}
	lease, err := piece.TryAcquire(s.stream, coherence.Overwrite)
	if err != nil {
		return err
	}
	err = s.stream.CopyIn(lease.Region(), p)
	if rerr := lease.Release(); err == nil {
		err = rerr
	}
	if serr := s.stream.Sync(ctx); err == nil {
		err = serr
	}
	return err
}

// own makes x current at this place alone.
func (s *stop) own(ctx context.Context, x *buffer.Buffer[byte]) error {
	if s.dev == nil {
		return x.Update(ctx, func([]byte) error { return nil })
	}
	lease, err := x.TryAcquire(s.stream, coherence.ReadWrite)
	if err != nil {
		return err
	}
	return lease.Release()
}

// read adds the bytes at this place to its digest; tmp is as long as x.
func (s *stop) read(ctx context.Context, x *buffer.Buffer[byte], tmp []byte) error {
	if s.dev == nil {
		return x.View(ctx, func(p []byte) error {
			s.sum.Write(p)
			return nil
		})
	}
	lease, err := x.TryAcquire(s.stream, coherence.Read)
	if err != nil {
		return err
	}
	clear(tmp)
	err = s.stream.CopyOut(tmp, lease.Region())
	if rerr := lease.Release(); err == nil {
		err = rerr
	}
	if serr := s.stream.Sync(ctx); err == nil {
		err = serr
	}
	s.sum.Write(tmp)
	return err
}

func (t *roundTrip) finish(before, after hash.Hash, stops []*stop, infos []hal.Info) {
	want := before.Sum(nil)
	t.Before, t.After = hex.EncodeToString(want), hex.EncodeToString(after.Sum(nil))
	t.Equal = t.Before == t.After
	for i, s := range stops {
		got := s.sum.Sum(nil)
		p := placeTrip{Place: s.name(), Digest: hex.EncodeToString(got), Equal: bytes.Equal(got, want)}
		if i > 0 {
			p.Name, p.Unified, p.Simulated = infos[i-1].Model, infos[i-1].SharesHostMemory, infos[i-1].Simulated
		}
		t.Equal = t.Equal && p.Equal
		t.Places = append(t.Places, p)
	}
}

func printTrip(out io.Writer, t *roundTrip) {
	fmt.Fprintf(out, "%s: %s (%d bytes) written in %s at %s in turn, acquired for writing at each, read back at each\n\n",
		t.File, bytesText(uint64(t.Bytes)), t.Bytes, plural(t.Pieces, "piece"), plural(len(t.Places), "place"))
	places := newTable(out, 0, 40)
	places.AppendHeader(table.Row{"place", "name", "kind", "contents"})
	for _, p := range t.Places {
		kind := "-"
		if p.Name != "" {
			kind = kindText(hal.Info{SharesHostMemory: p.Unified, Simulated: p.Simulated})
		}
		contents := "equal"
		if !p.Equal {
			contents = "DIFFERENT: " + p.Digest[:16] + "..."
		}
		places.AppendRow(table.Row{p.Place, p.Name, kind, contents})
	}
	places.Render()
	fmt.Fprintf(out, "\nbefore  sha256 %s\nafter   sha256 %s\n", t.Before, t.After)
	fmt.Fprintf(out, "moved   %s (%d bytes) in %s between places", bytesText(t.Transfers.BytesCopied), t.Transfers.BytesCopied,
		strings.Replace(plural(int(t.Transfers.Copies), "copy"), "copys", "copies", 1))
	fmt.Fprintf(out, "; %s were already where they were needed\n", bytesText(t.Transfers.BytesAvoided))
	if t.Equal {
		fmt.Fprintln(out, "the digests are equal")
	} else {
		fmt.Fprintln(out, "THE DIGESTS DIFFER")
	}
}
