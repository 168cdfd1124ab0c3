package kernel_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/kernel"
)

// A user is told of a compilation that takes long, and of no other.
func TestLongCompilationsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		end := kernel.Tell(&said, "compiling %s", "x")
		time.Sleep(2*time.Second - 1)
		end()
		time.Sleep(time.Minute)
		assert.Empty(t, said.String())
		end = kernel.Tell(&said, "compiling %s", "y")
		time.Sleep(2*time.Second + 1)
		synctest.Wait()
		assert.Equal(t, "halyard: compiling y takes longer than 2s\n", said.String())
		time.Sleep(10 * time.Second)
		end()
		assert.Equal(t, "halyard: compiling y takes longer than 2s\nhalyard: compiling y took 12s\n", said.String())
		kernel.Tell(nil, "compiling")()
	})
}
