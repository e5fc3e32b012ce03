// SPDX-License-Identifier: Apache-2.0

// Package web has the scripts and styles of the pages. The sources are in src,
// and dist has the bundles that esbuild makes of them; uPlot, the chart library
// in vendor, precedes them in a page. `make golden` writes dist, and a test compares
// it with the sources. The playground's two bundles are files of its folder, not
// of this package.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
)

//go:embed vendor/uplot/uPlot.iife.min.js
var library string

//go:embed dist/report.js dist/live.js dist/style.css
var dist embed.FS

// A Page is the script and style of a self-contained page.
type Page struct {
	Script template.JS
	Style  template.CSS
	// Policy is a Content-Security-Policy that allows this script and style and
	// forbids loading others.
	Policy string
}

// Inline returns the script of a bundle, report or live, with the chart library, and
// the style. It panics for any other bundle.
func Inline(bundle string) Page {
	script, style := element(library)+file(bundle+".js"), file("style.css")
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
	return element(string(text))
}

// element returns the text for an element that "</script" would end.
func element(text string) string { return strings.ReplaceAll(text, "</script", `<\/script`) }
