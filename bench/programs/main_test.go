package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// all matches the name of every program.
var all = regexp.MustCompile("")

func TestProgramsComputeWhatGoAndCDo(t *testing.T) {
	library, err := compile(t.Context(), t.TempDir(), "-O3")
	if err != nil {
		t.Log(err)
	}
	require.NoError(t, each(t.Context(), host, all, func(s *setting, p *program) error {
		_, err := s.inC(p, library)
		return err
	}))
}

func TestProgramsComputeWhatOpenCLDoes(t *testing.T) {
	list, err := hal.Devices(t.Context())
	require.NoError(t, err)
	for _, d := range list {
		if d.Backend != "opencl" {
			continue
		}
		require.NoError(t, each(t.Context(), d.Name(), all, func(s *setting, p *program) error {
			if p.hand == nil {
				return nil
			}
			return s.byHand(t.Context(), p)()
		}))
	}
}
