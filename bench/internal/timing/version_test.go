package timing

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func stamp(version string, settings ...string) *debug.BuildInfo {
	info := &debug.BuildInfo{Main: debug.Module{Version: version}}
	for i := 0; i < len(settings); i += 2 {
		info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
	}
	return info
}

func TestVersionIsWhatGoStamped(t *testing.T) {
	nowhere := t.TempDir()
	const revision = "0123456789abcdef0123456789abcdef01234567"
	assert.Equal(t, "v0.1.0", version(stamp("v0.1.0", "vcs.revision", revision), nowhere))
	assert.Equal(t, "0123456789ab", version(stamp("(devel)", "vcs.revision", revision, "vcs.modified", "false"), nowhere))
	assert.Equal(t, "0123456789ab-dirty", version(stamp("", "vcs.revision", revision, "vcs.modified", "true"), nowhere))
}

// Without a stamp, git says what is checked out, if it is Halyard.
func TestVersionWithoutStampIsOfTheCheckout(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(t.TempDir()))
	dir := t.TempDir()
	git := func(args ...string) {
		text, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, args...)...).CombinedOutput()
		require.NoError(t, err, string(text))
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	assert.Equal(t, "unknown", version(nil, dir), "no checkout")
	git("init", "-q")
	write("go.mod", "module example.com/other\n")
	git("add", ".")
	git("commit", "-q", "-m", "other")
	assert.Equal(t, "unknown", version(stamp("(devel)"), dir), "another module's")

	write("go.mod", "module github.com/go-halyard/halyard\n")
	git("commit", "-q", "-a", "-m", "ours")
	clean := version(stamp("(devel)"), dir)
	assert.Regexp(t, "^[0-9a-f]{7,}$", clean)
	write("go.mod", "module github.com/go-halyard/halyard\n\ngo 1.24\n")
	assert.Equal(t, clean+"-dirty", version(nil, dir))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "below"), 0o700))
	assert.Equal(t, clean+"-dirty", version(nil, filepath.Join(dir, "below")))
}
