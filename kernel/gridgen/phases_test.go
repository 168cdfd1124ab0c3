package gridgen_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/kernel/gridgen"
)

// What a pool gives has the length that was asked for, and what was given back is used again where it is long enough.
func TestPool(t *testing.T) {
	var p gridgen.Pool[int]
	long := p.Take(9)
	assert.Len(t, *long, 9)
	(*long)[8] = 5
	p.Give(long)
	short := p.Take(4)
	assert.Len(t, *short, 4)
	other := p.Take(4)
	assert.NotSame(t, &(*short)[0], &(*other)[0], "both are in use")
	p.Give(short)
	p.Give(other)
	assert.Len(t, *p.Take(100), 100)
}

// Not with the race detector, which is to see threads, nor where statements are counted.
func TestInPhases(t *testing.T) {
	assert.Equal(t, !gridgen.Racing && testing.CoverMode() == "", gridgen.InPhases())
}
