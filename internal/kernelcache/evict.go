package kernelcache

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	scanEvery = 64 // entries stored by a process between two scans, at most
	// bytes; sizes are rounded up to whole blocks, as on the disk, so that the limit bounds the number of small entries, too
	block   = 4096
	tempAge = time.Hour // a temporary file that is older was left behind by a process that died
)

// blocks rounds a size up to whole blocks.
func blocks(size int64) int64 { return (size + block - 1) &^ (block - 1) }

// stored counts an entry that was stored, and scans the folder if it is time: at the first entry that a process stores, at every 64th after
// that, and when the entries that the process knows of exceed the limit. A scan looks at every entry and deletes old ones. It finds at
// most limit/block entries and those stored since the last scan. A scan that deletes leaves an eighth of the limit free, so that an eighth
// must be stored before the limit causes the next scan.
func (c *Cache) stored(root *os.Root, size int64) {
	known := c.known.Add(blocks(size))
	if c.puts.Add(1)%scanEvery != 1 && known <= c.limit {
		return
	}
	if !c.scanning.TryLock() {
		return // the scan under way counts the entry, or the next scan does
	}
	defer c.scanning.Unlock()
	before := c.known.Load()
	c.known.Add(c.evict(root) - before) // entries stored during the scan stay counted
	c.scans.Add(1)
}

// used is an entry as a scan sees it.
type used struct {
	name string
	size int64
	last time.Time
}

// evict deletes entries if all together exceed the limit: those that have not been used for longest, until an eighth of the limit is free.
// It returns the size of the entries that are left. Errors do not matter: a file that cannot be deleted is left to the next scan.
func (c *Cache) evict(root *os.Root) int64 {
	var entries []used
	var total int64
	now := time.Now()
	for _, folder := range list(root, ".") {
		if !folder.IsDir() || !isFolder(folder.Name()) {
			continue
		}
		for _, file := range list(root, folder.Name()) {
			entry := isEntry(file.Name())
			if !entry && !isTemp(file.Name()) {
				continue // not the cache's
			}
			info, err := file.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			name := folder.Name() + "/" + file.Name()
			switch age := now.Sub(info.ModTime()); {
			case entry:
				last := info.ModTime()
				if age < -refreshAfter { // a wrong clock dated it in the future, which must not keep it for ever
					last = time.Time{}
				}
				entries = append(entries, used{name: name, size: blocks(info.Size()), last: last})
			case age.Abs() > tempAge: // its process died
				if remove(root, name) == nil {
					continue
				}
			}
			total += blocks(info.Size())
		}
	}
	if total <= c.limit {
		return total
	}
	slices.SortFunc(entries, func(a, b used) int { return cmp.Or(a.last.Compare(b.last), strings.Compare(a.name, b.name)) })
	keep := c.limit - c.limit/8
	for i, e := range entries {
		if total <= keep || i == len(entries)-1 { // the entry used last stays, even if it alone is larger than keep
			break
		}
		if err := remove(root, e.name); err == nil || errors.Is(err, fs.ErrNotExist) {
			total -= e.size
		}
	}
	return min(total, keep) // even if more is left: else a cache from which nothing can be deleted would be scanned at every entry
}

// list returns the entries of a folder. After an error it returns those that could be read before.
func list(root *os.Root, folder string) []fs.DirEntry {
	f, err := root.Open(folder)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	entries, _ := f.ReadDir(-1)
	return entries
}

// remove deletes a file.
func remove(root *os.Root, name string) error {
	return retry(func() error { return root.Remove(name) })
}
