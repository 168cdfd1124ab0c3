//go:build unix

package kernelcache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// unsafeFolder returns why no cache is kept in a folder, or "".
func unsafeFolder(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Sprintf("the folder belongs to user %d, not to user %d, who runs the program", s.Uid, os.Geteuid())
	}
	if info.Mode().Perm()&0o002 != 0 {
		return "everybody can write to the folder"
	}
	return ""
}

// foreignLink returns why a symbolic link is not followed, or "". info describes the last element of the path itself.
func foreignLink(info fs.FileInfo) string {
	if info.Mode()&fs.ModeSymlink == 0 {
		return ""
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && int(s.Uid) != os.Geteuid() {
		return fmt.Sprintf("the path is a symbolic link of user %d, not of user %d, who runs the program", s.Uid, os.Geteuid())
	}
	return ""
}

// retry calls fn once: on these systems a file can be renamed and deleted while it is open.
func retry(fn func() error) error { return fn() }
