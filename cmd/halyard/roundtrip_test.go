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
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// tempFile is a file of n bytes that do not repeat soon.
func tempFile(t *testing.T, n int) (path string, digest string) {
	t.Helper()
	data := make([]byte, 0, n+sha256.Size)
	for i := 0; len(data) < n; i++ {
		sum := sha256.Sum256(fmt.Append(nil, i))
		data = append(data, sum[:]...)
	}
	data = data[:n]
	path = filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	sum := sha256.Sum256(data)
	return path, hex.EncodeToString(sum[:])
}

func TestFileComesBackFromAllPlaces(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	for _, size := range []int{1, 2, 12, 13, 14, 4096, 100_003} {
		path, digest := tempFile(t, size)
		stdout, stderr, status := halyard(t, "check", "--file", path, "--backend", "host")
		require.Equal(t, exitPassed, status, "%d bytes: %s%s", size, stdout, stderr)
		assert.Empty(t, stderr)
		assert.Contains(t, stdout, "before  sha256 "+digest+"\nafter   sha256 "+digest+"\n")
		assert.Equal(t, "the digests are equal", lastLine(stdout))
		assert.Contains(t, stdout, fmt.Sprintf("(%d bytes) written in", size))
		assert.Contains(t, strings.Join(row(t, stdout, "host:1"), "|"), "discrete, simulated")
	}
}

func TestFileJSON(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	const size = 5000
	path, digest := tempFile(t, size)
	stdout, _, status := halyard(t, "check", "--file", path, "--device", "host:1,host:2", "--json")
	require.Equal(t, exitPassed, status)
	trip := decode[roundTrip](t, stdout)
	assert.True(t, trip.Equal)
	assert.EqualValues(t, size, trip.Bytes)
	assert.Equal(t, digest, trip.Before)
	assert.Equal(t, digest, trip.After)
	require.Len(t, trip.Places, 3)
	assert.Equal(t, "host:2", trip.Places[2].Place)
	for _, p := range trip.Places {
		assert.Equal(t, digest, p.Digest)
	}
	// Each byte is written at one of three places and owned by the two others in turn, which is two copies; then
	// two places more read it, and at last it comes back to the host from the last device, which owned it all.
	assert.EqualValues(t, 5*size, trip.Transfers.BytesCopied)
}

// A file longer than the window goes in parts, and reads as one.
func TestFileIsTakenInWindows(t *testing.T) {
	infos := []hal.Info{{Backend: "host", Ordinal: 0}}
	for _, n := range []int{1, 63, 64, 65, 128, 1000} {
		data := bytes.Repeat([]byte("halyard "), n/8+1)[:n]
		moved := 0
		trip, err := takeRound(t.Context(), iotest.HalfReader(bytes.NewReader(data)), "data", infos, 64, func(n int) { moved += n })
		require.NoError(t, err)
		sum := sha256.Sum256(data)
		assert.Equal(t, hex.EncodeToString(sum[:]), trip.After)
		assert.True(t, trip.Equal)
		assert.Equal(t, n, moved)
	}
}

func TestFileIsReadAsLongAsItWas(t *testing.T) {
	path, _ := tempFile(t, 100)
	in, size, err := openFile(path)
	require.NoError(t, err)
	defer in.Close()
	more, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = more.Write(make([]byte, 50))
	require.NoError(t, errors.Join(err, more.Close()))
	data, err := io.ReadAll(in)
	require.NoError(t, err)
	assert.EqualValues(t, 100, size)
	assert.Len(t, data, 100)
}

func TestFileReadErrorIsReported(t *testing.T) {
	cause := errors.New("the disk is gone")
	r := io.MultiReader(strings.NewReader("some bytes"), iotest.ErrReader(cause))
	_, err := takeRound(t.Context(), r, "data", []hal.Info{{Backend: "host"}}, 4, func(int) {})
	assert.ErrorIs(t, err, cause)
	assert.ErrorContains(t, err, "data: ")
}

func TestEmptyFilesAreRefused(t *testing.T) {
	path, _ := tempFile(t, 0)
	_, stderr, status := halyard(t, "check", "--file", path)
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, stderr, "the file is empty")
	// One that has become empty since it was opened.
	_, err := takeRound(t.Context(), strings.NewReader(""), "data", []hal.Info{{Backend: "host"}}, 4, func(int) {})
	assert.ErrorAs(t, err, new(usageError))
}

// A device that writes zeros in place of what it is told to copy makes the digests differ.
func TestFileThatComesBackChangedFails(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	path, digest := tempFile(t, 1000)
	stdout, stderr, status := halyard(t, "check", "--file", path, "--device", "host:1,lossy:1")
	assert.Equal(t, exitFailed, status)
	assert.Empty(t, stderr)
	assert.Equal(t, "THE DIGESTS DIFFER", lastLine(stdout))
	assert.Contains(t, stdout, "before  sha256 "+digest)
	assert.NotContains(t, stdout, "after   sha256 "+digest)
	assert.Contains(t, strings.Join(row(t, stdout, "lossy:1"), "|"), "DIFFERENT")

	stdout, _, status = halyard(t, "check", "--file", path, "--device", "lossy:1", "--json")
	assert.Equal(t, exitFailed, status)
	assert.False(t, decode[roundTrip](t, stdout).Equal)
	assert.Zero(t, alteredOpen.Load(), "every device that was opened is closed")
}

// What one place read differently counts, even if the host has the right bytes at the end.
func TestFilePlaceThatReadsOtherBytesFails(t *testing.T) {
	sum := func(s string) hash.Hash {
		h := sha256.New()
		h.Write([]byte(s))
		return h
	}
	infos := []hal.Info{{Backend: "host", Model: "one"}}
	dev, err := hal.Open(t.Context(), "host:0")
	require.NoError(t, err)
	for held, equal := range map[string]bool{"data": true, "date": false} {
		var trip roundTrip
		trip.finish(sum("data"), sum("data"), []*stop{{sum: sum("data")}, {dev: dev, sum: sum(held)}}, infos)
		assert.Equal(t, equal, trip.Equal)
		assert.Equal(t, []bool{true, equal}, []bool{trip.Places[0].Equal, trip.Places[1].Equal})
	}
	require.NoError(t, dev.Close())
}

func TestFileNeedsItsDevices(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "")
	path, _ := tempFile(t, 10)
	for args, says := range map[string]string{
		"--device host:5":                  "--device host:5: no such device; host has 1 device",
		"--backend odd":                    "backend unavailable: tried libodd",
		"--backend idle":                   "finds no device",
		"--device host:0 --require odd":    "backend unavailable",
		"--device host:0 --require broken": "not among the devices selected",
	} {
		stdout, stderr, status := halyard(t, append([]string{"check", "--file", path}, strings.Fields(args)...)...)
		assert.Equal(t, exitFailed, status, args)
		assert.Contains(t, stderr, says, args)
		assert.Empty(t, stdout, args)
	}
}

// A device that cannot be opened, or is lost on the way, gives its own error and leaves nothing open.
func TestFileErrorOfADeviceIsReported(t *testing.T) {
	_, err := takeRound(t.Context(), strings.NewReader("x"), "data", []hal.Info{{Backend: "host"}, {Backend: "odd"}}, 4, func(int) {})
	assert.ErrorIs(t, err, hal.ErrUnavailable)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = takeRound(ctx, strings.NewReader("eight by"), "data", []hal.Info{{Backend: "host"}}, 4, func(int) { cancel() })
	assert.ErrorIs(t, err, context.Canceled)
}
