// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pauseless/pauseless/internal/diag"
)

// scheme returns the folder that gen new writes, with one text of one file
// replaced by another.
func scheme(t *testing.T, file, old, new string) fs.FS {
	t.Helper()
	files, err := Starter("mine")
	if err != nil {
		t.Fatal(err)
	}
	fsys := make(fstest.MapFS)
	for _, f := range files {
		text := string(f.Data)
		if f.Name == "mine/"+file {
			if !strings.Contains(text, old) {
				t.Fatalf("%s has no %q", f.Name, old)
			}
			text = strings.Replace(text, old, new, 1)
		}
		fsys[f.Name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// A process does not check what it has built in, which takes a fifth of the CPU time of its
// start.
func TestBuiltInBlocksHaveNoErrors(t *testing.T) {
	var list diag.List
	for _, b := range loaded().blocks {
		loaded().check(b, &list)
	}
	if err := list.Err(); err != nil {
		t.Error(err)
	}
}

// An error in a scheme's folder is reported with file, line and cause, and with
// a suggestion.
func TestErrorsInASchemesFolder(t *testing.T) {
	for _, c := range []struct{ file, old, new, pos, want string }{
		{"block.yaml", "needs: [flowlet]", "needs: [flowlets]", "dir/mine/block.yaml:12", `no block is called "flowlets" (did you mean "flowlet"?)`},
		{"block.yaml", "needs: [flowlet]", "needs: [base.leef]", "dir/mine/block.yaml:12", `block base has no option "leef" (did you mean "leaf"?)`},
		{"block.yaml", "choose Mine", "chose Mine", "dir/mine/block.yaml:26", `no stage is called "chose" (did you mean "choose"?)`},
		{"block.yaml", "choose Mine", "Mine", "dir/mine/block.yaml:26", "write a stage and a control"},
		{"block.yaml", "choose Mine", "choose Other", "dir/mine/block.yaml:26", "v1model.ingress: no template has a control Other"},
		{"common.p4.tmpl", "mine.gap", "100", "dir/mine/block.yaml:17", "no template and no formula uses the parameter mine.gap"},
		{"block.yaml", "unit: ns", "unit: hours", "dir/mine/block.yaml:18", `unit of gap is "hours": use one of bytes, ns`},
		{"block.yaml", `"100_000"`, `"100_000 +"`, "dir/mine/block.yaml:19", "is not a formula"},
		{"block.yaml", `"100_000"`, `"dilay"`, "dir/mine/block.yaml:19", `unknown name dilay (did you mean "delay"?)`},
		{"block.yaml", "name: gap", "name: switch", "dir/mine/block.yaml:17", "a word of formulas"},
		{"block.yaml", "needs: [flowlet]", "neads: [flowlet]", "dir/mine/block.yaml:12", `unknown key "neads" (did you mean "needs"?)`},
		{"block.yaml", "pick: {base: mine}", "pick: {base: mine, rlb: x}", "dir/mine/block.yaml:7", "write one key of a profile"},
		{"block.yaml", "\ntna:\n", "\ntna:\n  defaults: {gab: {default: \"1\"}}\n", "dir/mine/block.yaml:31", `the block has no parameter "gab" (did you mean "gap"?)`},
		{"block.yaml", "\ntna:\n", "\ntna:\n  defaults: {gap: {default: dilay}}\n", "dir/mine/block.yaml:31", `default of gap: "dilay": unknown name dilay (did you mean "delay"?)`},
		{"v1model.p4.tmpl", `{{define "ingress"}}`, `{{define "ingres"}}`, "dir/mine/v1model.p4.tmpl", `no block has a hook for section "ingres" (did you mean "ingress"?)`},
	} {
		catalogue := loaded().clone()
		err := catalogue.add(scheme(t, c.file, c.old, c.new), "dir")
		var list diag.List
		if !errors.As(err, &list) || !strings.Contains(err.Error(), c.pos) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s instead of %s: error is\n%v\nwant one at %s with %q", c.new, c.old, err, c.pos, c.want)
		}
	}
}

// A duplicate name, and a folder without schemes.
func TestSchemesThatCannotBeAdded(t *testing.T) {
	for _, c := range []struct {
		fsys fs.FS
		want string
	}{
		{fstest.MapFS{}, "no folder in it has a block.yaml"},
		{fstest.MapFS{"hash/block.yaml": {Data: []byte("summary: x\n")}}, "a block is called hash already"},
		{fstest.MapFS{"a/block.yaml": {Data: []byte("summary: x\n")}, "a/profiles/drill.yaml": {Data: []byte("name: drill\n")}}, "a profile is called drill already"},
	} {
		if err := loaded().clone().add(c.fsys, "dir"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want one with %q", err, c.want)
		}
	}
	if err := AddSchemes("testdata/none"); err == nil || !strings.Contains(err.Error(), "there is no directory testdata/none") {
		t.Errorf("a missing directory: %v", err)
	}
	for _, name := range []string{"", "Mine", "a-b", "drill", "1a"} {
		if _, err := Starter(name); err == nil {
			t.Errorf("a scheme named %q is accepted", name)
		}
	}
}

// registers is a section with a register, before the section "ingress".
func registers(declaration string) string {
	return "{{define \"registers\"}}\n" + declaration + "\n{{end}}\n\n{{define \"ingress\"}}"
}

// table is a table of a control, before its apply.
func table(kind, entries string) string {
	return "    @name(\".limit\") @kind(\"" + kind + "\") @entries(\"" + entries + "\")\n    @brief(\"x\")\n    table limit {\n        actions = { NoAction; }\n    }\n\n    apply {\n"
}

// A template that refers to something undefined is an error, not empty text, and
// so is a declaration that the manifest would not have.
func TestErrorsInATemplate(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`{{cell "(meta.first_port + (port_t) one)"}}`, `{{if need "flowlt"}}x{{end}}`, `no block is called "flowlt" (did you mean "flowlet"?)`},
		{`{{cell "(meta.first_port + (port_t) one)"}}`, `{{section "none"}}`, `has no section "none"`},
		{`{{cell "(meta.first_port + (port_t) one)"}}`, `{{from "rtt" "x"}}`, "it has to be among the needs"},
		{`{{cell "(meta.first_port + (port_t) one)"}}`, `{{value "1 / "}}`, "is not a formula"},
		{`{{cell "(meta.first_port + (port_t) one)"}}`, `{{value "mine.gapp"}}`, "no parameter mine.gapp"},
		{`{{define "ingress"}}`, `{{define "ingress"}}{{lines "nowhere"}}`, `no block has a hook "nowhere"`},
		{`{{define "ingress"}}`, registers(`register<bit<32>>({{.Sizes.Ports}}) bare;`), `bare lacks annotations`},
		{`{{define "ingress"}}`, registers("@name(\".long\") @index(\"port\") @unit(\"bytes\")\nregister<bit<32>>({{.Sizes.Ports}}) long;"), `long lacks annotations`},
		{"    apply {\n", "    @name(\".limit\")\n    table limit {\n        actions = { NoAction; }\n    }\n\n    apply {\n", `table limit lacks annotations`},
		{"    apply {\n", table("setings", "all_ports"), `table limit: @kind("setings") (did you mean "settings"?) is none of routes, ports, settings`},
		{"    apply {\n", table("settings", "all_port"), `table limit: @entries("all_port") (did you mean "all_ports"?) is none of all_ports, fabric_ports, switch, leaf`},
		{`{{define "ingress"}}`, `{{define "ingress"}}{{one "outer_fields"}}`, `no block has a section "outer_fields" (): define it in a template of the block that needs mine`},
		{`{{define "ingress"}}`, `{{define "ingress"}}{{range 1000}}{{range 1000}}{{range 1000}}bomb{{end}}{{end}}{{end}}`, "it writes more than 4 MB; does a range repeat another one?"},
		{`{{define "ingress"}}`, `{{define "ingress"}}{{range 1000000000}}{{end}}`, "ranges repeat more than 2000000 times in all: does one repeat another one, or have a number instead of a list?"},
		{`{{define "ingress"}}`, `{{define "ingress"}}{{range 9999}}{{range 9999}}{{end}}{{end}}`, "ranges repeat more than 2000000 times in all"},
		{`{{define "ingress"}}`, `{{define "ingress"}}{{if`, "unexpected \"/\" in if"},
	} {
		catalogue := loaded().clone()
		if err := catalogue.add(scheme(t, "v1model.p4.tmpl", c.old, c.new), "dir"); err != nil {
			t.Fatal(err)
		}
		known.Lock()
		before := known.c
		known.c = catalogue
		known.Unlock()
		p, err := Builtin("mine")
		if err == nil {
			_, err = Generate(p, "v1model")
		}
		known.Lock()
		known.c = before
		known.Unlock()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want one with %q", c.new, err, c.want)
		}
	}
}

// A profile made in Go has the default of each key that it does not set.
func TestProfilesMadeInGo(t *testing.T) {
	p := newProfile()
	p.Name, p.Choices = "mine", nil
	p.Choose("ecn", "red")
	if err := p.Check(); err != nil || p.Choice("rlb") != "off" || p.Choice("pfc") != "native" || p.Choice("ecn") != "red" {
		t.Errorf("choices are %v, %v", p.Choices, err)
	}
}
