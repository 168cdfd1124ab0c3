package kernelcache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
)

// example is an image with something of everything.
func example() *driver.Image {
	return &driver.Image{
		Format:  driver.FormatCubin,
		Data:    []byte("\x7fELF and more"),
		Options: "-O3",
		Params: map[string][]driver.Param{
			"saxpy": {
				{Name: "a", Kind: driver.ParamValue, Size: 4},
				{Name: "x", Kind: driver.ParamPointer, Size: 8, Const: true},
				{Kind: driver.ParamShared},
			},
			"nothing": nil,
		},
	}
}

// path returns the file of an entry.
func path(c *Cache, key Key) string {
	folder, file := key.name()
	return filepath.Join(c.dir, folder, file)
}

// files returns the paths below a folder, relative to it.
func files(t testing.TB, dir string) []string {
	var list []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, name)
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	return list
}

func TestGetReturnsWhatWasPut(t *testing.T) {
	long := example()
	long.Data = bytes.Repeat([]byte{1, 2, 3}, 1<<20)
	for name, img := range map[string]*driver.Image{
		"everything": example(),
		"large":      long,
		"data alone": {Format: driver.FormatPTX, Data: []byte(".version 7.0")},
		"empty":      {Data: []byte{}},
	} {
		t.Run(name, func(t *testing.T) {
			c, key := Open(filepath.Join(t.TempDir(), "a", "b"), 0), NewKey(name)
			_, ok := c.Get(key)
			require.False(t, ok)
			require.NoError(t, c.Put(key, img))
			for _, c := range []*Cache{c, Open(c.dir, 0)} {
				got, ok := c.Get(key)
				require.True(t, ok)
				require.Equal(t, img, got)
			}
			_, ok = c.Get(NewKey("another"))
			require.False(t, ok)
			c.Delete(key)
			_, ok = c.Get(key)
			require.False(t, ok)
			require.Empty(t, files(t, c.dir))
		})
	}
}

func TestPutReplacesAnEntry(t *testing.T) {
	c, key := Open(t.TempDir(), 0), NewKey()
	require.NoError(t, c.Put(key, example()))
	img := &driver.Image{Format: driver.FormatPTX, Data: []byte("another")}
	require.NoError(t, c.Put(key, img))
	got, ok := c.Get(key)
	require.True(t, ok)
	require.Equal(t, img, got)
	require.Len(t, files(t, c.dir), 1)
}

// Parts are kept apart, and their order counts.
func TestKeysDiffer(t *testing.T) {
	keys := map[Key][]string{}
	for _, parts := range [][]string{nil, {""}, {"", ""}, {"abc"}, {"ab", "c"}, {"a", "bc"}, {"c", "ab"}, {"abc", ""}, {"", "abc"}, {"ABC"}} {
		key := NewKey(parts...)
		require.NotContains(t, keys, key, "%q", parts)
		require.Equal(t, key, NewKey(parts...))
		keys[key] = parts
	}
}

func TestNothingIsMadeBeforeTheFirstStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kernels")
	c := Open(dir, 0)
	_, ok := c.Get(NewKey())
	require.False(t, ok)
	c.Delete(NewKey())
	require.NoDirExists(t, dir)
	require.NoError(t, c.Put(NewKey(), example()))
	require.DirExists(t, dir)
}

func TestOnlyTheUserCanReadEntries(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are of Unix")
	}
	dir := filepath.Join(t.TempDir(), "kernels")
	c, key := Open(dir, 0), NewKey()
	require.NoError(t, c.Put(key, example()))
	for name, want := range map[string]fs.FileMode{dir: 0o700, filepath.Dir(path(c, key)): 0o700, path(c, key): 0o600} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), name)
	}
}

// Each byte of an entry counts, and each is missed.
func TestDamagedEntryIsCompiledAnew(t *testing.T) {
	c, key := Open(t.TempDir(), 0), NewKey("kernel")
	require.NoError(t, c.Put(key, example()))
	whole, err := os.ReadFile(path(c, key))
	require.NoError(t, err)
	damaged := map[string][]byte{"longer": append(bytes.Clone(whole), 0), "other": encode(NewKey("another"), example())}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 8)
		damaged[fmt.Sprintf("bit in byte %d", i)] = b
		damaged[fmt.Sprintf("first %d bytes", i)] = whole[:i]
	}
	require.Len(t, damaged, 2+2*len(whole))
	for what, b := range damaged {
		require.NoError(t, os.WriteFile(path(c, key), b, 0o600))
		_, ok := c.Get(key)
		require.False(t, ok, what)
		require.NoFileExists(t, path(c, key), what)
	}
	for what, b := range map[string][]byte{"empty": nil, "bit": damaged["bit in byte 100"], "half": whole[:len(whole)/2], "longer": damaged["longer"]} {
		require.NoError(t, os.WriteFile(path(c, key), b, 0o600))
		compiled := 0
		for range 3 {
			img, err := c.Do(t.Context(), key, func() (*driver.Image, error) {
				compiled++
				return example(), nil
			})
			require.NoError(t, err)
			require.Equal(t, example(), img, what)
		}
		require.Equal(t, 1, compiled, what)
	}
}

// A file that says it is huge is refused before there is memory for it.
func TestHugeFileIsNotRead(t *testing.T) {
	c, key := Open(t.TempDir(), 0), NewKey()
	require.NoError(t, c.Put(key, example()))
	for _, size := range []int64{maxEntry, maxEntry + 1, 1 << 40} {
		f, err := os.Create(path(c, key))
		require.NoError(t, err)
		if err := f.Truncate(size); err != nil { // sparse
			require.NoError(t, f.Close())
			t.Logf("%d bytes: %v", size, err)
			continue
		}
		require.NoError(t, f.Close())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, ok := c.Get(key)
		runtime.ReadMemStats(&after)
		require.False(t, ok)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
		require.NoFileExists(t, path(c, key))
	}
}

// What is not a file at an entry's place is neither followed nor waited for, and the next entry replaces it.
func TestOtherThingsAtAnEntrysPlaceAreAbsent(t *testing.T) {
	c, key := Open(t.TempDir(), 0), NewKey("kernel")
	require.NoError(t, c.Put(key, example()))
	for what, elsewhere := range map[string]string{"beside": path(c, key) + ".saved", "outside": filepath.Join(t.TempDir(), "entry")} {
		require.NoError(t, os.Rename(path(c, key), elsewhere))
		target := elsewhere
		if what == "beside" { // or the link would lead out of the folder, which is refused anyway
			target = filepath.Base(elsewhere)
		}
		if err := os.Symlink(target, path(c, key)); err != nil {
			t.Skipf("no symbolic links: %v", err)
		}
		_, err := os.ReadFile(path(c, key))
		require.NoError(t, err)
		_, ok := c.Get(key)
		require.False(t, ok, what)
		require.NoError(t, c.Put(key, example()))
		_, ok = c.Get(key)
		require.True(t, ok, what)
		require.FileExists(t, elsewhere)
	}
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	key := NewKey()
	folder, _ := key.name()
	blocked := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(blocked, folder), nil, 0o600))
	dirs := map[string]string{"a file": file, "below a file": filepath.Join(file, "kernels"), "a file within": blocked, "zero byte": "a\x00b"}
	if runtime.GOOS != "windows" && os.Geteuid() != 0 { // root may write everywhere
		dirs["read only"] = filepath.Join(t.TempDir(), "kernels")
		require.NoError(t, os.Mkdir(dirs["read only"], 0o500))
	}
	for what, dir := range dirs {
		t.Run(what, func(t *testing.T) {
			c := Open(dir, 0)
			err := c.Put(key, example())
			require.ErrorIs(t, err, driver.ErrUnavailable)
			require.Contains(t, err.Error(), c.dir)
			_, ok := c.Get(key)
			require.False(t, ok)
			c.Delete(key)
			compiled := 0
			for range 2 {
				img, err := c.Do(t.Context(), key, func() (*driver.Image, error) {
					compiled++
					return example(), nil
				})
				require.NoError(t, err)
				require.Equal(t, example(), img)
			}
			require.Equal(t, 2, compiled)
		})
	}
	require.NoError(t, os.Remove(filepath.Join(blocked, folder)))
	c := Open(blocked, 0)
	require.NoError(t, c.Put(key, example()))
}

func TestFolderOfOthersIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("owners and modes are of Unix")
	}
	base, key := t.TempDir(), NewKey()
	own := filepath.Join(base, "own")
	require.NoError(t, Open(own, 0).Put(key, example()))
	refused := func(t *testing.T, c *Cache, why string) {
		t.Helper()
		_, ok := c.Get(key)
		assert.False(t, ok)
		c.Delete(key)
		err := c.Put(key, example())
		assert.ErrorIs(t, err, driver.ErrUnavailable)
		assert.ErrorContains(t, err, why)
	}
	t.Run("everybody can write", func(t *testing.T) {
		c := Open(own, 0)
		for _, mode := range []fs.FileMode{0o777, 0o777 | fs.ModeSticky, 0o702} {
			require.NoError(t, os.Chmod(own, mode))
			refused(t, c, "everybody can write")
			require.FileExists(t, path(c, key))
		}
		for _, mode := range []fs.FileMode{0o775, 0o755, 0o700} {
			require.NoError(t, os.Chmod(own, mode))
			_, ok := c.Get(key)
			require.True(t, ok)
		}
	})
	t.Run("own link", func(t *testing.T) {
		link := filepath.Join(base, "link")
		require.NoError(t, os.Symlink(own, link))
		_, ok := Open(link, 0).Get(key)
		require.True(t, ok)
	})
	if os.Geteuid() != 0 {
		t.Run("another user's", func(t *testing.T) { refused(t, Open("/", 0), "belongs to user 0") })
		return
	}
	t.Run("another user's link", func(t *testing.T) {
		link := filepath.Join(base, "foreign")
		require.NoError(t, os.Symlink(own, link))
		require.NoError(t, os.Lchown(link, 12345, 12345))
		refused(t, Open(link, 0), "link of user 12345")
		require.FileExists(t, path(Open(own, 0), key))
	})
	t.Run("another user's", func(t *testing.T) {
		require.NoError(t, os.Chown(own, 12345, 12345))
		refused(t, Open(own, 0), "belongs to user 12345")
		require.FileExists(t, path(Open(own, 0), key))
	})
}

func TestPutRefusesWhatItCannotStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kernels")
	c := Open(dir, 4*block)
	for _, row := range []struct {
		img  *driver.Image
		kind error
	}{
		{nil, driver.ErrInvalidArgument},
		{&driver.Image{Format: driver.FormatGo}, driver.ErrUnsupported},
		{&driver.Image{Functions: map[string]driver.Function{}}, driver.ErrUnsupported},
		{&driver.Image{Data: make([]byte, 4*block)}, driver.ErrOutOfRange},
	} {
		require.ErrorIs(t, c.Put(NewKey(), row.img), row.kind)
	}
	require.NoDirExists(t, dir)
	require.NoError(t, c.Put(NewKey(), &driver.Image{Data: make([]byte, 4*block-400)}))
	_, ok := c.Get(NewKey())
	require.True(t, ok, "the largest that fits")
}

func TestDefaultFollowsTheEnvironment(t *testing.T) {
	home := t.TempDir()
	for _, v := range []string{"XDG_CACHE_HOME", "LocalAppData", "HOME", "home"} {
		t.Setenv(v, home)
	}
	user, err := os.UserCacheDir()
	require.NoError(t, err)

	dir := t.TempDir()
	t.Setenv(Variable, dir)
	c := Default()
	require.Equal(t, dir, c.dir)
	require.Same(t, c, Default())

	for _, off := range []string{"", "off"} {
		t.Setenv(Variable, off)
		c := Default()
		require.Empty(t, c.dir)
		require.NoError(t, c.Put(NewKey(), example()))
		_, ok := c.Get(NewKey())
		require.False(t, ok)
		c.Delete(NewKey())
		require.Same(t, c, Default())
	}

	require.NoError(t, os.Unsetenv(Variable)) // t.Setenv restores it
	c = Default()
	require.Equal(t, filepath.Join(user, "halyard", "kernels"), c.dir)
	require.NoDirExists(t, c.dir)
	require.NoError(t, c.Put(NewKey(), example()))
	require.DirExists(t, c.dir)

	if runtime.GOOS == "windows" {
		return
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	c = Default()
	require.Empty(t, c.dir)
	require.NoError(t, c.Put(NewKey(), example()))
}

// A relative folder is where it was when the cache was opened.
func TestFolderStaysWhenTheWorkingFolderChanges(t *testing.T) {
	first := t.TempDir()
	t.Chdir(first)
	c := Open("kernels", 0)
	t.Chdir(t.TempDir())
	require.NoError(t, c.Put(NewKey(), example()))
	require.Len(t, files(t, filepath.Join(first, "kernels")), 1)
}

// A use renews the time of an entry, at most once an hour, or if the time is in the future.
func TestUseRenewsTheTime(t *testing.T) {
	c, key := Open(t.TempDir(), 0), NewKey()
	require.NoError(t, c.Put(key, example()))
	for _, row := range []struct {
		age     time.Duration
		renewed bool
	}{{0, false}, {50 * time.Minute, false}, {61 * time.Minute, true}, {1000 * time.Hour, true}, {-50 * time.Minute, false}, {-1000 * time.Hour, true}} {
		old := time.Now().Add(-row.age).Truncate(time.Second)
		require.NoError(t, os.Chtimes(path(c, key), old, old))
		_, ok := c.Get(key)
		require.True(t, ok)
		info, err := os.Stat(path(c, key))
		require.NoError(t, err)
		if !row.renewed {
			require.True(t, old.Equal(info.ModTime()), "%v", row.age)
			continue
		}
		require.Less(t, time.Since(info.ModTime()).Abs(), 10*time.Minute, "%v", row.age)
	}
}

// A folder that is deleted under a running program is made again.
func TestDeletedFolderIsMadeAgain(t *testing.T) {
	c, key := Open(filepath.Join(t.TempDir(), "kernels"), 0), NewKey()
	for range 2 {
		require.NoError(t, c.Put(key, example()))
		_, ok := c.Get(key)
		require.True(t, ok)
		require.NoError(t, os.RemoveAll(c.dir))
		_, ok = c.Get(key)
		require.False(t, ok)
	}
}

// An entry gets its name when all of it is on the disk. If that fails, nothing is left, and what was there before stays.
func TestEntryAppearsWhole(t *testing.T) {
	c, key := Open(t.TempDir(), 0), NewKey()
	synced := 0
	c.sync = func(f *os.File) error {
		synced++
		require.NoFileExists(t, path(c, key))
		require.Len(t, files(t, c.dir), 1)
		info, err := f.Stat()
		require.NoError(t, err)
		require.Equal(t, int64(len(encode(key, example()))), info.Size())
		return f.Sync()
	}
	require.NoError(t, c.Put(key, example()))
	require.Equal(t, 1, synced)

	full := errors.New("disk full")
	c.sync = func(*os.File) error { return full }
	err := c.Put(key, &driver.Image{})
	require.ErrorIs(t, err, driver.ErrUnavailable)
	require.ErrorIs(t, err, full)
	require.Len(t, files(t, c.dir), 1)
	got, ok := c.Get(key)
	require.True(t, ok)
	require.Equal(t, example(), got)
}

// Whatever becomes of a call, it leaves no file open.
func TestNothingStaysOpen(t *testing.T) {
	const own = "/proc/self/fd"
	if _, err := os.Stat(own); err != nil {
		t.Skip("open files are counted on Linux alone")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close what is forgotten
	open := func() int {
		list, err := os.ReadDir(own)
		require.NoError(t, err)
		return len(list)
	}
	key := NewKey()
	use := func(dir string) {
		c := Open(dir, 0)
		_ = c.Put(key, example())
		_, _ = c.Get(key)
		if f, err := os.OpenFile(path(c, key), os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, _ = f.WriteString("damage")
			require.NoError(t, f.Close())
		}
		_, _ = c.Get(key)
		_ = c.Put(key, example())
		c.Delete(key)
		_, _ = c.Get(key)
		c.sync = func(*os.File) error { return fs.ErrInvalid }
		_ = c.Put(key, example())
	}
	public := filepath.Join(t.TempDir(), "public")
	require.NoError(t, os.Mkdir(public, 0o700))
	require.NoError(t, os.Chmod(public, 0o777))
	good := t.TempDir()
	use(good)
	before := open()
	for range 20 {
		use(good)
		use(public)
	}
	require.Equal(t, before, open())
}
