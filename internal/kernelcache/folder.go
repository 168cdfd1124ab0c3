package kernelcache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/go-halyard/halyard/hal/driver"
)

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
