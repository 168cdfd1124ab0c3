package hal_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
)

func TestErrorsOfNoDevice(t *testing.T) {
	err := hal.Errorf("tune", hal.ErrOutOfRange, "%d of %d", 3, 2)
	assert.Equal(t, &hal.Error{Op: "tune", Device: -1, Kind: hal.ErrOutOfRange, Detail: "3 of 2"}, err)
	assert.ErrorIs(t, err, hal.ErrOutOfRange)

	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	err = layer.Interrupted("tune", ctx)
	assert.ErrorIs(t, err, hal.ErrNotReady)
	assert.ErrorIs(t, err, why)
}

func TestKindName(t *testing.T) {
	names := map[string]bool{}
	for _, k := range driver.Kinds() {
		name := hal.KindName(fmt.Errorf("outer: %w", hal.Errorf("tune", k, "why")))
		assert.Regexp(t, "^[A-Z][A-Za-z]+$", name)
		assert.False(t, names[name], "%s has two kinds", name)
		names[name] = true
	}
	assert.True(t, names["OutOfMemory"] && names["NotReady"] && names["InvalidArgument"], "%v", names)
	inner := hal.Errorf("tune", hal.ErrBusy, "why")
	assert.Equal(t, "NotReady", hal.KindName(&hal.Error{Kind: hal.ErrNotReady, Err: inner}), "the outermost")
	assert.Equal(t, "Busy", hal.KindName(hal.ErrBusy))
	for _, err := range []error{nil, errors.New("no kind"), &hal.Error{Kind: errors.New("no name")}} {
		assert.Empty(t, hal.KindName(err))
	}
}
