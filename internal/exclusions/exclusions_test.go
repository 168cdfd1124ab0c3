package exclusions

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
)

func TestEveryKnownEntryNamesAKindAReasonAndAnExistingCheck(t *testing.T) {
	for _, e := range Known {
		x := e.Exclusion
		assert.NotEmpty(t, e.Backend, "%+v: an exclusion is about one vendor's interface", e)
		assert.NotEmpty(t, x.Reason, "%+v", e)
		assert.Contains(t, []conformance.Outcome{conformance.Unsupported, conformance.ExpectedFailure}, x.Kind, "%+v", e)
		named, unmatched := Expand([]conformance.Exclusion{x})
		assert.Empty(t, unmatched, "%+v", e)
		assert.NotEmpty(t, named, "%+v", e)
	}
}

func TestEntriesApplyToTheirDevicesOnly(t *testing.T) {
	excuse := func(check string) conformance.Exclusion {
		return conformance.Exclusion{Check: check, Kind: conformance.Unsupported, Reason: "because"}
	}
	entries := []Entry{
		{Backend: "opencl", Driver: "pocl", Exclusion: excuse("A")},
		{Backend: "opencl", Tier: "svm", Exclusion: excuse("B")},
		{Backend: "opencl", Driver: "pocl 3", Tier: "usm", Exclusion: excuse("C")},
		{Exclusion: excuse("D")},
	}
	for _, c := range []struct {
		info hal.Info
		want []string
	}{
		{hal.Info{Backend: "host"}, []string{"D"}},
		{hal.Info{Backend: "opencl", Driver: "Portable, PoCL 3.1", Tier: "buffer"}, []string{"A", "D"}},
		{hal.Info{Backend: "opencl", Driver: "Intel", Tier: "svm"}, []string{"B", "D"}},
		{hal.Info{Backend: "opencl", Driver: "PoCL 3.1", Tier: "usm"}, []string{"A", "C", "D"}},
		{hal.Info{Backend: "cuda", Driver: "PoCL", Tier: "svm"}, []string{"D"}},
	} {
		var got []string
		for _, x := range match(entries, c.info) {
			got = append(got, x.Check)
		}
		assert.Equal(t, c.want, got, "%+v", c.info)
	}
}

func TestExpandNamesEachCheckOnce(t *testing.T) {
	all := conformance.Checks()
	first, group := all[0].FullName(), all[0].Group
	size := 0
	for _, c := range all {
		if c.Group == group {
			size++
		}
	}
	named, unmatched := Expand([]conformance.Exclusion{
		{Check: first, Kind: conformance.ExpectedFailure, Reason: "the first"},
		{Check: group + "/*", Kind: conformance.Unsupported, Reason: "the others"},
		{Check: "No/*", Kind: conformance.Unsupported, Reason: "none"},
		{Check: "[", Kind: conformance.Unsupported, Reason: "no pattern"},
	})
	assert.Equal(t, []string{"No/*", "["}, unmatched)
	if assert.Len(t, named, size) {
		assert.Equal(t, conformance.Exclusion{Check: first, Kind: conformance.ExpectedFailure, Reason: "the first"}, named[0])
		for _, x := range named[1:] {
			assert.Equal(t, "the others", x.Reason)
		}
	}
}
