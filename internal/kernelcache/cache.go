// Package kernelcache keeps compiled kernels on disk, so that a program compiles each of them once and not at each start.
//
// An entry is a file of its own. Its name is its [Key], a hash of everything that the result of the compiler depends on; the caller must
// put all of that into the key. An entry is read whole, and its checksum is compared, before it is used: a damaged entry is removed, and
// counts as absent. Nothing is promised about how long an entry stays: any file, and the whole folder, may be deleted at any time.
//
// Processes share a folder without locks. An entry is written under another name, and renamed when it is complete; two processes that make
// the same entry at once both write it, and both files are right. The folder's size is bounded: when all entries together become too large,
// those that have not been used for longest are deleted.
//
// Code from the cache runs on the device with the rights of the program, so the folder must be the user's own: on Unix a folder that
// belongs to another user, or that everybody can write to, is refused. A checksum detects accidents. It does not detect a forged entry.
package kernelcache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// Variable is the environment variable with the folder of the cache that [Default] returns.
const Variable = "HALYARD_KERNEL_CACHE"

// DefaultLimit is the limit of a cache, in bytes, if no other is chosen.
const DefaultLimit = 256 << 20

// refreshAfter is the age from which a use renews the recorded time of an entry's last use. It bounds how often reads write to the disk.
const refreshAfter = time.Hour

// Cache is a folder with compiled kernels. Several goroutines, and several processes, may use it at once.
type Cache struct {
	dir   string // absolute; "" if nothing is stored
	limit int64

	puts     atomic.Uint64 // entries that this Cache has stored
	known    atomic.Int64  // bytes of all entries: those of the last scan, and those stored since
	scanning sync.Mutex
	scans    atomic.Uint64

	mu     sync.Mutex
	making map[Key]*making

	sync func(*os.File) error // brings a file to the disk; tests replace it
}

// Open returns the cache in a folder. With dir "" it stores nothing. The entries, each rounded up to 4 KiB, have at most limit bytes
// together; 0 or less stands for [DefaultLimit]. If several processes store at the same time, each may exceed the limit by 64 entries.
// Nothing is created or looked at before the first use.
func Open(dir string, limit int64) *Cache {
	if limit <= 0 {
		limit = DefaultLimit
	}
	if dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		} // else the working directory is gone, and with it the folder
	}
	return &Cache{dir: dir, limit: limit, making: map[Key]*making{}, sync: (*os.File).Sync}
}

var preset struct {
	sync.Mutex
	value string
	cache *Cache
}

// Default returns the cache in the folder that the environment variable HALYARD_KERNEL_CACHE names; if it is not set, in halyard/kernels of
// the user's folder for caches. If it is empty or "off", or the user has no such folder, the cache stores nothing. While the variable keeps
// its value, all calls return the same Cache.
func Default() *Cache {
	value, set := os.LookupEnv(Variable)
	switch {
	case value == "off":
		value = ""
	case !set:
		if base, err := os.UserCacheDir(); err == nil {
			value = filepath.Join(base, "halyard", "kernels")
		}
	}
	preset.Lock()
	defer preset.Unlock()
	if preset.cache == nil || preset.value != value {
		preset.value, preset.cache = value, Open(value, DefaultLimit)
	}
	return preset.cache
}

// Get returns the image of an entry, which then belongs to the caller. It reports false if there is no such entry, or if the entry is
// damaged or cannot be read. A damaged entry is removed.
func (c *Cache) Get(key Key) (*driver.Image, bool) {
	if c.dir == "" {
		return nil, false
	}
	root, err := openFolder(c.dir)
	if err != nil {
		return nil, false
	}
	defer func() { _ = root.Close() }()
	folder, file := key.name()
	name := folder + "/" + file
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() { // opening a pipe would wait
		return nil, false
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, false
	}
	img, err := read(f, info.Size(), key)
	if err != nil {
		if now, e := root.Lstat(name); err == errDamaged && e == nil && os.SameFile(now, info) { // another file may have replaced it by now
			_ = remove(root, name)
		}
		return nil, false
	}
	if now := time.Now(); now.Sub(info.ModTime()).Abs() > refreshAfter { // or the clock has been wrong
		_ = root.Chtimes(name, now, now) // if this fails, the entry is deleted sooner
	}
	return img, true
}

var errDamaged = errors.New("damaged")

// read returns the image in a file of size bytes. The error is errDamaged if the file is not an entry of the key.
func read(f *os.File, size int64, key Key) (*driver.Image, error) {
	if size < headerSize || size > maxEntry {
		return nil, errDamaged
	}
	var header [headerSize]byte
	if err := readFull(f, header[:]); err != nil {
		return nil, err
	}
	if !plausible(header[:], size) {
		return nil, errDamaged // before memory of that size is allocated
	}
	b := make([]byte, size)
	copy(b, header[:])
	if err := readFull(f, b[headerSize:]); err != nil {
		return nil, err
	}
	img := decode(key, b)
	if img == nil {
		return nil, errDamaged
	}
	return img, nil
}

// readFull fills b. The error is errDamaged if the file ends before.
func readFull(f *os.File, b []byte) error {
	_, err := io.ReadFull(f, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errDamaged
	}
	return err
}

// Put stores an image, which replaces one that is there. It does nothing if the cache is switched off. Other processes see the whole entry
// or none. The error is of kind ErrUnavailable if the folder cannot be used or written to, and the program can go on without the cache;
// ErrUnsupported if the image has functions of the program; ErrOutOfRange if it is larger than the cache.
func (c *Cache) Put(key Key, img *driver.Image) error {
	const op = "store a kernel"
	if img == nil {
		return failure(op, driver.ErrInvalidArgument, nil, "nil image")
	}
	if img.Format == driver.FormatGo || img.Functions != nil {
		return failure(op, driver.ErrUnsupported, nil, "functions of the program cannot be stored")
	}
	if c.dir == "" {
		return nil
	}
	entry := encode(key, img)
	if size, most := int64(len(entry)), min(c.limit, maxEntry); blocks(size) > most {
		return failure(op, driver.ErrOutOfRange, nil, "the entry has %d bytes; the cache takes at most %d", size, most)
	}
	if err := c.put(key, entry); err != nil {
		return failure(op, driver.ErrUnavailable, err, "folder %s", c.dir)
	}
	return nil
}

func (c *Cache) put(key Key, entry []byte) error {
	root, err := makeFolder(c.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	folder, file := key.name()
	if err := root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	name := folder + "/" + file
	temp := fmt.Sprintf("%s.%016x%s", name, rand.Uint64(), tempSuffix)
	if err := c.write(root, temp, entry); err != nil {
		return err
	}
	if err := retry(func() error { return root.Rename(temp, name) }); err != nil {
		_ = remove(root, temp)
		return err
	}
	c.stored(root, int64(len(entry)))
	return nil
}

// write makes a file. If it fails, it leaves no file behind.
func (c *Cache) write(root *os.Root, name string, b []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = c.sync(f) // else a crash of the machine could leave a file without its bytes
	}
	if err := errors.Join(err, f.Close()); err != nil {
		_ = remove(root, name)
		return err
	}
	return nil
}

// Delete removes an entry, if it is there. It is for an entry that the driver has refused.
func (c *Cache) Delete(key Key) {
	if c.dir == "" {
		return
	}
	root, err := openFolder(c.dir)
	if err != nil {
		return
	}
	folder, file := key.name()
	_ = remove(root, folder+"/"+file)
	_ = root.Close()
}

// openFolder opens a folder, and refuses it if it is not safe for a cache. The error matches fs.ErrNotExist if there is no folder.
func openFolder(dir string) (*os.Root, error) {
	link, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if why := foreignLink(link); why != "" {
		return nil, errors.New(why)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".") // of the folder that was opened; the path may name another one by now
	if err == nil {
		if why := unsafeFolder(info); why != "" {
			err = errors.New(why)
		}
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// makeFolder is like openFolder, but makes the folder if there is none.
func makeFolder(dir string) (*os.Root, error) {
	root, err := openFolder(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return root, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return openFolder(dir)
}

func failure(op string, kind, cause error, format string, args ...any) *driver.Error {
	return &driver.Error{Op: op, Device: -1, Kind: kind, Detail: fmt.Sprintf(format, args...), Err: cause}
}
