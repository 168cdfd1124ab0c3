package rtc

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-halyard/halyard/internal/dl"
)

// search is where a library is looked for.
type search struct {
	exact   string   // what the environment names, and nothing else is tried; or ""
	names   []string // for the system's loader
	folders []string // patterns of folders to look into for the names
}

var getenv = os.Getenv

func (v *vendor) search() search {
	return search{exact: getenv(v.env), names: v.libraries(), folders: v.folders()}
}

func (s *search) key() string { return s.exact + "\x00" + strings.Join(s.folders, "\x00") }

// candidates returns what to open, in this order, and the folders that have nothing of the kind.
func (s *search) candidates() (names []string, absent []dl.Attempt) {
	if s.exact != "" {
		return []string{s.exact}, nil
	}
	names = append(names, s.names...)
	for _, folder := range s.folders {
		found := s.within(folder)
		names = append(names, found...)
		if len(found) == 0 {
			absent = append(absent, dl.Attempt{Name: folder, Reason: "has none of these"})
		}
	}
	return names, absent
}

// within returns the files of the right name in the folders of a pattern. Roots with signs of patterns in their own names are of no harm: nothing
// is found in them.
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

// file reports whether there is a file to open. It does not know every place that the system's loader looks at.
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

// loaderCache is where the loader of the GNU C library keeps the paths of libraries.
const loaderCache = "/etc/ld.so.cache"

// system reports whether the loader of Linux has a path for one of the names.
func (s *search) system() bool {
	for _, folder := range filepath.SplitList(getenv("LD_LIBRARY_PATH")) {
		if folder != "" && len(s.within(folder)) > 0 {
			return true
		}
	}
	cache, _ := os.ReadFile(loaderCache) // without it, the folders alone count
	for _, name := range s.names {
		if bytes.Contains(cache, []byte("/"+name+"\x00")) {
			return true
		}
	}
	return false
}
