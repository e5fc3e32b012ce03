// SPDX-License-Identifier: Apache-2.0

// Package web has the browser's side of what we show: scripts and styles, as
// they are put into pages. The sources are in src; dist has them bundled with
// uPlot, the chart library in vendor, by esbuild. `make golden` makes dist anew,
// and a test compares.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
)

//go:embed dist
var dist embed.FS

// Bundles are the pages that there are scripts for.
var Bundles = []string{"report", "live", "playground", "worker"}

// A Page is what goes into a page that is one file.
type Page struct {
	Script template.JS
	Style  template.CSS
	// Policy is a Content-Security-Policy under which nothing but the two
	// above runs and nothing is loaded from anywhere.
	Policy string
}

// Inline returns script and style of a bundle.
func Inline(bundle string) Page {
	script, style := file(bundle+".js"), file("style.css")
	return Page{
		Script: template.JS(script), Style: template.CSS(style),
		Policy: fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data: blob:; base-uri 'none'; form-action 'none'", hash(script), hash(style)),
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// file returns a file of dist.
func file(name string) string {
	text, err := dist.ReadFile("dist/" + name)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	// What ends a script element has no place within one.
	return strings.ReplaceAll(string(text), "</script", `<\/script`)
}
