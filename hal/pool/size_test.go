package pool_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "4096": 4096, "512 B": 512, "1KiB": 1024, "1kb": 1000, " 2 MiB ": 2 << 20, "1.5GiB": 3 << 29,
		"0.1kB": 100, "1.9999B": 1, ".5KiB": 512, "3.GB": 3e9, "1TiB": 1 << 40, "15EiB": 15 << 60, "1PB": 1e15,
		"18446744073709551615": 1<<64 - 1, "200 mb": 200e6, "0.000000001EB": 1e9,
	} {
		n, err := pool.ParseSize(text)
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, n, "%q", text)
	}
	for text, kind := range map[string]error{
		"": hal.ErrInvalidArgument, "GiB": hal.ErrInvalidArgument, "1K": hal.ErrInvalidArgument, "1.2.3MB": hal.ErrInvalidArgument,
		"-1MB": hal.ErrInvalidArgument, "1e3": hal.ErrInvalidArgument, ".": hal.ErrInvalidArgument, "1 GiB x": hal.ErrInvalidArgument,
		"+5": hal.ErrInvalidArgument, "1/2GB": hal.ErrInvalidArgument, "0x10": hal.ErrInvalidArgument, "16EiB": hal.ErrOutOfRange,
		"18446744073709551616": hal.ErrOutOfRange, "1 2": hal.ErrInvalidArgument, strings.Repeat("9", 100): hal.ErrInvalidArgument,
	} {
		_, err := pool.ParseSize(text)
		require.ErrorIs(t, err, kind, "%q", text)
	}
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.50 KiB", 3 << 30: "3 GiB", 1<<64 - 1: "16.00 EiB"} {
		require.Equal(t, want, pool.FormatSize(n))
	}
}
