package coherence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestModesAreNamed(t *testing.T) {
	assert.Equal(t, "Read, ReadWrite, Overwrite", Read.String()+", "+ReadWrite.String()+", "+Overwrite.String())
	assert.Equal(t, "Mode(3)", Mode(3).String())
	assert.Equal(t, "Mode(255)", Mode(255).String())
	assert.Equal(t, Read, Mode(0), "the zero value changes nothing")
}
