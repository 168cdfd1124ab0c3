package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-halyard/halyard/hal/driver"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the backends that are built in",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "halyard %s, %s %s/%s, %s\nbackends: %s\n", version(), runtime.Version(),
				runtime.GOOS, runtime.GOARCH, cgo(), strings.Join(builtIn(), ", "))
			return err
		},
	}
}

// version returns the module's version, or for a development build "devel" and the revision if it is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
		if r := setting(info, "vcs.revision"); r != "" {
			v += "-" + r[:min(12, len(r))]
		}
	}
	return v
}

func cgo() string {
	if info, ok := debug.ReadBuildInfo(); ok && setting(info, "CGO_ENABLED") == "1" {
		return "cgo on"
	}
	return "cgo off"
}

// setting returns a setting of the command's build, "" if it has none.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func builtIn() []string {
	var names []string
	for _, b := range driver.Backends() {
		names = append(names, b.Name())
	}
	return names
}
