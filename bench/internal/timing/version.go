package timing

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
)

// Version says which Halyard this program is: the version that Go stamped into it, or the commit. Programs without a stamp, such as those that "go run"
// or "go build -buildvcs=false" builds, ask git for the commit of the working directory, which is dirty if files differ from it. If that is no
// checkout of Halyard, or there is no git, it is "unknown". The first answer holds for the process: what it writes later may be a file of the checkout.
func Version() string { return ours() }

var ours = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return version(info, ".")
})

func version(info *debug.BuildInfo, dir string) string {
	if info != nil {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			return v
		}
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if r := settings["vcs.revision"]; r != "" {
			r = r[:min(12, len(r))]
			if settings["vcs.modified"] == "true" {
				r += "-dirty"
			}
			return r
		}
	}
	git := func(args ...string) string {
		text, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	top := git("rev-parse", "--show-toplevel")
	mod, _ := os.ReadFile(filepath.Join(top, "go.mod"))
	first, _, _ := strings.Cut(string(mod), "\n")
	if v := git("describe", "--always", "--dirty"); v != "" && top != "" && strings.TrimSpace(first) == "module github.com/go-halyard/halyard" {
		return v
	}
	return "unknown"
}
