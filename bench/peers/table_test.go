package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTableComparesLikeWithLike(t *testing.T) {
	var r results
	for i, text := range []string{
		`{"peer": "ours", "version": "1", "device": "d"} {"case": "ping-pong", "size": 1048576, "ns": 100} {"case": "ping-pong", "size": 1048576, "ns": 300}`,
		`{"peer": "ours in place", "version": "1", "device": "d", "shared": true} {"case": "ping-pong", "size": 1048576, "ns": 2}`,
		`{"peer": "copies", "version": "7", "device": "e", "note": "by hand"} {"case": "ping-pong", "size": 1048576, "ns": 3000}`,
		`{"peer": "in place", "version": "8", "device": "f", "shared": true} {"case": "ping-pong", "size": 1048576, "ns": 1}`,
	} {
		require.NoError(t, r.read(text, i))
	}
	assert.NoError(t, r.complete())
	r.Missing = map[string]string{"Other": "not installed"}
	assert.EqualError(t, r.complete(), "not measured: Other")
	r.Date, r.Machine, r.Halyard, r.Rounds = "2026-01-01", "a machine", "a commit", 4
	text := r.markdown()
	assert.Contains(t, text, "Measured 2026-01-01 on a machine, Halyard at a commit; 4 rounds, medians.\n")
	assert.Contains(t, text, "| ping-pong, 1 MiB | 200 ns | 2.0 ns | 3.0 µs (×15) | 1.0 ns (×0.5) |")
	assert.NotContains(t, text, "64 MiB", "a row without figures")
	assert.Contains(t, text, "- copies: 7, on e; by hand.\n")
	assert.Contains(t, text, "- in place: 8, on f; host and device are one memory, nothing is copied.\n")
	assert.Contains(t, text, "- Other is missing: not installed.\n")
}

func TestBadOutputIsRefused(t *testing.T) {
	for _, text := range []string{"", "x", `{"case": "ping-pong", "size": 1, "ns": 1}`, `{"peer": "p"} {"size": 1}`, `{"peer": "p"} {"case": "c", "ns": -1}`} {
		var r results
		assert.Error(t, r.read(text, 0), "%q", text)
	}
}
