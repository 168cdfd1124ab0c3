package kernelcache

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
)

// unsynced returns a cache that leaves it to the system when files reach the disk, since a test that stores much would wait for that alone.
func unsynced(dir string, limit int64) *Cache {
	c := Open(dir, limit)
	c.sync = func(*os.File) error { return nil }
	return c
}

// usage counts files and the blocks that they take.
func usage(t testing.TB, c *Cache) (count int, size int64) {
	for _, name := range files(t, c.dir) {
		info, err := os.Stat(filepath.Join(c.dir, name))
		require.NoError(t, err)
		count++
		size += blocks(info.Size())
	}
	return count, size
}

func TestCacheIsBounded(t *testing.T) {
	const limit = 1 << 20
	const all = 2500
	puts := all
	if testing.Short() {
		puts = 1000
	}
	c := unsynced(t.TempDir(), limit)
	r := rand.New(rand.NewPCG(1, 2))
	sizes := []int{1, 1, 1, 100, 4000, 20_000, 150_000} // bytes, up to
	for i := range puts {
		img := &driver.Image{Format: driver.FormatPTX, Data: make([]byte, 1+r.IntN(sizes[r.IntN(len(sizes))]))}
		key := NewKey("kernel", fmt.Sprint(r.IntN(2*puts)))
		require.NoError(t, c.Put(key, img))
		got, ok := c.Get(key)
		require.True(t, ok, "the newest stays")
		require.Equal(t, img, got)
		if i%250 == 0 || i == puts-1 {
			count, size := usage(t, c)
			require.LessOrEqual(t, size, int64(limit))
			require.LessOrEqual(t, count, limit/block)
		}
	}
	count, size := usage(t, c)
	t.Logf("%d puts: %d files, %d bytes, %d scans", puts, count, size, c.scans.Load())
	require.Greater(t, size, int64(limit/2), "no more is deleted than has to be")
	require.Less(t, c.scans.Load(), uint64(puts)/5, "not at each put")
	t.Logf("did %d of %d puts", puts, all)
}

// A process finds at its first entry what earlier ones have left, and at each 64th what others store meanwhile.
func TestOtherProcessesEntriesCount(t *testing.T) {
	dir := t.TempDir()
	big := func(i int) (Key, *driver.Image) {
		return NewKey("big", fmt.Sprint(i)), &driver.Image{Data: make([]byte, 10_000)}
	}
	other := unsynced(dir, 0)
	for i := range 100 {
		require.NoError(t, other.Put(big(i)))
	}
	c := unsynced(dir, 50*3*block)
	require.NoError(t, c.Put(big(100)))
	_, size := usage(t, c)
	require.LessOrEqual(t, size, c.limit)

	for i := range 100 {
		require.NoError(t, other.Put(big(i)))
	}
	_, size = usage(t, c)
	require.Greater(t, size, c.limit)
	for i := range scanEvery {
		require.NoError(t, c.Put(NewKey("small", fmt.Sprint(i)), &driver.Image{}))
	}
	_, size = usage(t, c)
	require.LessOrEqual(t, size, c.limit)
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	c := unsynced(t.TempDir(), 16*block)
	key := func(i int) Key { return NewKey(fmt.Sprint(i)) }
	for i := range 16 {
		require.NoError(t, c.Put(key(i), example()))
		old := time.Now().Add(-time.Duration(100-i) * 2 * time.Hour)
		require.NoError(t, os.Chtimes(path(c, key(i)), old, old))
	}
	for _, i := range []int{0, 3} {
		_, ok := c.Get(key(i)) // used now
		require.True(t, ok)
	}
	future := time.Now().Add(1000 * time.Hour) // of a clock that was wrong
	require.NoError(t, os.Chtimes(path(c, key(9)), future, future))
	require.NoError(t, c.Put(key(16), example())) // one too many: down to 14
	var gone []int
	for i := range 17 {
		if _, err := os.Stat(path(c, key(i))); err != nil {
			gone = append(gone, i)
		}
	}
	require.Equal(t, []int{1, 2, 9}, gone)
}

// An entry as large as the whole cache stays alone.
func TestLargestEntryStays(t *testing.T) {
	c := unsynced(t.TempDir(), 16*block)
	for i := range 10 {
		require.NoError(t, c.Put(NewKey(fmt.Sprint(i)), example()))
		old := time.Now().Add(-time.Minute)
		require.NoError(t, os.Chtimes(path(c, NewKey(fmt.Sprint(i))), old, old))
	}
	require.NoError(t, c.Put(NewKey("large"), &driver.Image{Data: make([]byte, 16*block-400)}))
	_, ok := c.Get(NewKey("large"))
	require.True(t, ok)
	count, _ := usage(t, c)
	require.Equal(t, 1, count)
}

// Files of processes that died while they wrote are deleted; those being written, and files that are not the cache's, stay.
func TestLeftoversAreDeleted(t *testing.T) {
	c, key := Open(t.TempDir(), 16*block), NewKey()
	folder, file := key.name()
	stays := []string{"README", "ab/notes.txt", "kernels/" + file, folder + "/" + file + ".x", folder + "/" + file[1:] + ".tmp", folder + "/" + file + ".01.tmp"}
	goes := []string{folder + "/" + file + ".02.tmp", folder + "/" + file + ".03.tmp"}
	for i, name := range append(stays, goes...) {
		name = filepath.Join(c.dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, make([]byte, block), 0o600))
		when := time.Now().Add(-tempAge * 3)
		switch i {
		case len(stays) - 1: // being written
			when = time.Now()
		case len(stays): // of a clock that was wrong
			when = time.Now().Add(tempAge * 3)
		}
		require.NoError(t, os.Chtimes(name, when, when))
	}
	folder, file = NewKey("first").name()
	require.NoError(t, c.Put(NewKey("first"), example()))
	require.ElementsMatch(t, append(stays, folder+"/"+file), files(t, c.dir))
	require.EqualValues(t, 2*block, c.known.Load())
}

// While other processes write more than the limit, which cannot be deleted, a process does not scan at each entry.
func TestWhatCannotBeDeletedDoesNotCostAScanEachTime(t *testing.T) {
	c := unsynced(t.TempDir(), 16*block)
	folder, file := NewKey().name()
	require.NoError(t, os.Mkdir(filepath.Join(c.dir, folder), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, folder, file+".01.tmp"), make([]byte, 20*block), 0o600))
	const puts = 30
	for i := range puts {
		require.NoError(t, c.Put(NewKey(fmt.Sprint(i)), example()))
	}
	require.Greater(t, c.scans.Load(), uint64(1))
	require.LessOrEqual(t, c.scans.Load(), uint64(puts/2))
}
