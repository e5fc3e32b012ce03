// SPDX-License-Identifier: Apache-2.0

package web

import (
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/pauseless/pauseless/internal/golden"
)

// The committed bundles are the same bytes that esbuild makes of the sources.
func TestBundlesAreBuiltFromTheSources(t *testing.T) {
	for _, b := range []string{"report", "live", "playground", "worker"} {
		build(t, "src/"+b+".js", "dist/"+b+".js")
	}
	build(t, "src/style.css", "dist/style.css")
}

func build(t *testing.T, entry, to string) {
	t.Helper()
	r := api.Build(api.BuildOptions{
		EntryPoints: []string{entry}, Bundle: true, Charset: api.CharsetUTF8, Target: api.ES2022, LegalComments: api.LegalCommentsInline,
		MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: true, Format: api.FormatIIFE, Outfile: to,
		Loader: map[string]api.Loader{".yaml": api.LoaderText},
		Banner: map[string]string{
			"js":  "/*! SPDX-License-Identifier: Apache-2.0. Made of testbed/web/src by `make golden`; with uPlot (MIT, (c) 2022 Leon Sorokin), see testbed/web/vendor/uplot/LICENSE */",
			"css": "/*! SPDX-License-Identifier: Apache-2.0. Made of testbed/web/src by `make golden`; with uPlot (MIT, (c) 2022 Leon Sorokin) */",
		},
	})
	for _, m := range append(r.Errors, r.Warnings...) {
		t.Errorf("%s:%d: %s", m.Location.File, m.Location.Line, m.Text)
	}
	if t.Failed() {
		return
	}
	golden.Check(t, to, r.OutputFiles[0].Contents)
}

func TestPolicyAllowsOurScriptAndNothingElse(t *testing.T) {
	p := Inline("report")
	if strings.Contains(p.Policy, "unsafe") || !strings.Contains(p.Policy, "script-src 'sha256-") {
		t.Errorf("policy is %q", p.Policy)
	}
	if strings.Contains(string(p.Script), "</script") || strings.Contains(string(p.Style), "</style") {
		t.Error("the script or style contains the end tag of its element")
	}
}
