package kernelcache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/emulator"
)

// roleVariable makes this program do something else than test, and end.
const roleVariable = "HALYARD_TEST_KERNELCACHE_ROLE"

var roles = map[string]func(args []string) error{"compile": compileRole, "share": shareRole}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := roles[role](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process returns this program in a role.
func process(t *testing.T, role string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := emulator.Command(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	return cmd
}

// compileRole looks a kernel up, or compiles it, and prints how often it has compiled.
func compileRole([]string) error {
	compiled := 0
	img, err := Default().Do(context.Background(), NewKey("source", "compiler"), func() (*driver.Image, error) {
		compiled++
		return example(), nil
	})
	if err == nil {
		fmt.Printf("compiled %d, %d bytes", compiled, len(img.Data))
	}
	return err
}

func TestSecondRunDoesNotCompile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kernels")
	t.Setenv(Variable, dir)
	for _, want := range []int{1, 0, 0} {
		out, err := process(t, "compile").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, fmt.Sprintf("compiled %d, %d bytes", want, len(example().Data)), string(out))
	}
	require.Len(t, files(t, dir), 1)
	t.Setenv(Variable, "off")
	out, err := process(t, "compile").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "compiled 1,")
}

const (
	sharers     = 8
	sharedKeys  = 200
	sharedLimit = 1 << 20 // less than all entries together
	sharedSteps = 1500    // of each process
)

// sharedImage returns the image of the i-th key, of 1 byte to 20 KB.
func sharedImage(i int) (Key, *driver.Image) {
	r := rand.New(rand.NewPCG(uint64(i), 0))
	data := make([]byte, 1+r.IntN(20_000))
	for j := range data {
		data[j] = byte(r.Uint32())
	}
	return NewKey("shared", strconv.Itoa(i)), &driver.Image{Format: driver.FormatPTX, Data: data, Options: strconv.Itoa(i)}
}

func sameImage(a, b *driver.Image) bool {
	return a.Format == b.Format && a.Options == b.Options && string(a.Data) == string(b.Data) && len(a.Params) == len(b.Params)
}

// shareRole uses the cache that others use at the same time, and does damage now and then. Every image that it gets has to be right.
func shareRole(args []string) error {
	seed, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	c := unsynced(args[0], sharedLimit)
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	got, missed, stored := 0, 0, 0
	for range sharedSteps {
		i := r.IntN(sharedKeys)
		key, want := sharedImage(i)
		switch n := r.IntN(100); {
		case n < 50:
			img, ok := c.Get(key)
			switch {
			case !ok:
				missed++
			case !sameImage(img, want):
				return fmt.Errorf("get: the image of key %d is %q with %d bytes, want %d", i, img.Options, len(img.Data), len(want.Data))
			default:
				got++
			}
		case n < 70:
			img, err := c.Do(context.Background(), key, func() (*driver.Image, error) { return want, nil })
			if err != nil {
				return err
			}
			if !sameImage(img, want) {
				return fmt.Errorf("do: the image of key %d is %q", i, img.Options)
			}
		case n < 95:
			if err := c.Put(key, want); err != nil {
				return fmt.Errorf("put: %w", err)
			}
			stored++
		case n < 98:
			c.Delete(key)
		default: // as a disk might, while others read
			if f, err := os.OpenFile(path(c, key), os.O_WRONLY, 0); err == nil {
				if r.IntN(2) == 0 {
					_ = f.Truncate(int64(r.IntN(100)))
				} else {
					_, _ = f.WriteAt([]byte("damage"), int64(r.IntN(100)))
				}
				_ = f.Close()
			}
		}
	}
	fmt.Printf("got %d, missed %d, stored %d, scanned %d", got, missed, stored, c.scans.Load())
	return nil
}

func TestManyProcessesShareACache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kernels")
	var all sync.WaitGroup
	for seed := range sharers {
		all.Go(func() {
			out, err := process(t, "share", dir, strconv.Itoa(seed)).CombinedOutput()
			assert.NoError(t, err, "%s", out)
			var got, missed, stored, scanned int
			_, err = fmt.Sscanf(string(out), "got %d, missed %d, stored %d, scanned %d", &got, &missed, &stored, &scanned)
			assert.NoError(t, err, "%s", out)
			t.Logf("process %d: %s", seed, out)
			assert.Positive(t, got)
			assert.Positive(t, missed)
			assert.Positive(t, stored)
			assert.Greater(t, scanned, 1)
		})
	}
	all.Wait()
	for _, name := range files(t, dir) {
		require.False(t, strings.HasSuffix(name, tempSuffix), name)
	}
	c := unsynced(dir, sharedLimit)
	first, img := sharedImage(0)
	require.NoError(t, c.Put(first, img))
	_, size := usage(t, c)
	require.LessOrEqual(t, size, int64(sharedLimit))
	found := 0
	for i := range sharedKeys {
		key, want := sharedImage(i)
		if img, ok := c.Get(key); ok {
			require.True(t, sameImage(img, want), "key %d", i)
			found++
		}
	}
	require.Len(t, files(t, dir), found, "what was damaged is gone")
	require.Positive(t, found)
}
