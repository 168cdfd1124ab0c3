package debug_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/internal/debug"
)

func TestHas(t *testing.T) {
	for value, has := range map[string]bool{
		"": false, "log": true, "log,guard": true, "guard,log": true, "guard, log ,sites": true,
		"nolog": false, "logs": false, "log guard": false, "LOG": false, ",": false,
	} {
		t.Setenv(debug.Variable, value)
		assert.Equal(t, has, debug.Has("log"), "%q", value)
	}
}
