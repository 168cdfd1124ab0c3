package rtc

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-halyard/halyard/internal/dl"
)

// search is a list of the places where a library may be.
type search struct {
	exact   string   // the library that the environment names, or ""; if it is set, nothing else is tried
	names   []string // file names, which the system's loader looks up
	folders []string // patterns of folders that may contain files of these names
}

var getenv = os.Getenv

func (v *vendor) search() search {
	return search{exact: getenv(v.env), names: v.libraries(), folders: v.folders()}
}

func (s *search) key() string { return s.exact + "\x00" + strings.Join(s.folders, "\x00") }

// candidates returns the names and paths to open, in this order, and the patterns whose folders contain none of the names.
func (s *search) candidates() (names []string, absent []dl.Attempt) {
	if s.exact != "" {
		return []string{s.exact}, nil
	}
	names = append(names, s.names...)
	for _, folder := range s.folders {
		found := s.within(folder)
		names = append(names, found...)
		if len(found) == 0 {
			absent = append(absent, dl.Attempt{Name: folder, Reason: "contains no file of these names"})
		}
	}
	return names, absent
}

// within returns the files with one of the names in the folders of a pattern. If the path of a root contains a character that patterns use,
// within may find nothing there, which does no harm.
func (s *search) within(folder string) (files []string) {
	folders, _ := filepath.Glob(folder)
	for _, f := range folders {
		for _, name := range s.names {
			if path := filepath.Join(f, name); isFile(path) {
				files = append(files, path)
			}
		}
	}
	return files
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// file reports whether it finds a file to open. It does not know every place where the system's loader looks.
func (s *search) file() bool {
	if s.exact != "" {
		return filepath.IsAbs(s.exact) && isFile(s.exact)
	}
	for _, folder := range s.folders {
		if len(s.within(folder)) > 0 {
			return true
		}
	}
	return runtime.GOOS == "linux" && s.system()
}

// loaderCache is the file in which the loader of the GNU C library keeps the paths of libraries.
const loaderCache = "/etc/ld.so.cache"

// system reports whether the loader of Linux has a path for one of the names.
func (s *search) system() bool {
	for _, folder := range filepath.SplitList(getenv("LD_LIBRARY_PATH")) {
		if folder != "" && len(s.within(folder)) > 0 {
			return true
		}
	}
	cache, _ := os.ReadFile(loaderCache) // if it cannot be read, only the folders count
	for _, name := range s.names {
		if bytes.Contains(cache, []byte("/"+name+"\x00")) {
			return true
		}
	}
	return false
}
