package hal_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/hal"
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
