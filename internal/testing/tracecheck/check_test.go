package tracecheck

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const names = `{"name":"process_name","ph":"M","ts":0,"pid":1,"tid":0,"args":{"name":"p"}},
{"name":"thread_name","ph":"M","ts":0,"pid":1,"tid":1,"args":{"name":"t"}},`

const good = names + `
{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1},
{"name":"w","ph":"s","ts":2,"pid":1,"tid":1,"id":7},
{"name":"b","ph":"X","ts":3,"dur":2,"pid":1,"tid":1},
{"name":"w","ph":"f","bp":"e","ts":4,"pid":1,"tid":1,"id":7},
{"name":"m","ph":"i","s":"t","ts":5,"pid":1,"tid":1},
{"name":"c","ph":"C","ts":5,"pid":1,"tid":0,"args":{"n":1}}`

func check(events string) error {
	return Check(strings.NewReader("[" + events + "]"))
}

func TestGoodTracePasses(t *testing.T) {
	require.NoError(t, check(good))
	require.NoError(t, check(""))
	for _, cut := range []string{"[", "[" + good, "[" + good + ", \n"} {
		require.NoError(t, Check(strings.NewReader(cut)))
	}
}

func TestEachBrokenRuleIsFound(t *testing.T) {
	for _, c := range []struct{ old, new, says string }{
		{`"name":"a"`, `"name":""`, "missing"},
		{`"ts":1,`, ``, "missing"},
		{`"ts":1,`, `"ts":-1,`, "negative"},
		{`"ts":1,"dur":2`, `"ts":1`, "no duration"},
		{`"dur":2,"pid":1,"tid":1},
{"name":"w"`, `"dur":3,"pid":1,"tid":1},
{"name":"w"`, "begins at 3"},
		{`"ph":"X"`, `"ph":"B"`, "no such phase"},
		{`"args":{"name":"t"}`, `"args":{}`, "no name"},
		{`"ph":"X","ts":1,"dur":2,"pid":1,"tid":1`, `"ph":"X","ts":1,"dur":2,"pid":1,"tid":2`, "has no name"},
		{`"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1`, `"name":"a","ph":"C","ts":1,"pid":2,"tid":1`, "process 2 has no name"},
		{`"s":"t"`, `"s":"x"`, "scope"},
		{`"ts":5,"pid":1,"tid":1}`, `"ts":4,"pid":1,"tid":1}`, "is at 4"},
		{`{"n":1}`, `{"n":"1"}`, "not a number"},
		{`"ph":"f","bp":"e"`, `"ph":"f"`, "around it"},
		{`"ph":"f","bp":"e","ts":4`, `"ph":"f","bp":"e","ts":1`, "before it begins"},
		{`"ph":"f","bp":"e","ts":4`, `"ph":"f","bp":"e","ts":9`, "on no slice"},
		{`"ts":4,"pid":1,"tid":1,"id":7`, `"ts":4,"pid":1,"tid":1,"id":8`, "does not begin"},
		{`"ph":"s","ts":2,"pid":1,"tid":1,"id":7`, `"ph":"s","ts":2,"pid":1,"tid":1`, "without a number"},
		{`{"name":"w","ph":"f"`, `{"name":"v","ph":"f"`, "two names"},
		{`"process_name"`, `"process_title"`, "no such metadata"},
	} {
		require.Equal(t, 1, min(1, strings.Count(good, c.old)), c.old)
		err := check(strings.Replace(good, c.old, c.new, 1))
		assert.ErrorContains(t, err, c.says, "%s -> %s", c.old, c.new)
	}
	assert.Error(t, check(good+","))
	assert.ErrorContains(t, check(names+names[:len(names)-1]), "a second one")
	assert.ErrorContains(t, check(good+`,{"name":"c","ph":"C","ts":4,"pid":1,"tid":0,"args":{"n":1}}`), "back in time")
	assert.Error(t, Check(strings.NewReader("["+good[:len(good)-1])))
	assert.Error(t, Check(strings.NewReader("{}")))
	assert.Error(t, Check(strings.NewReader("[]]")))
}
