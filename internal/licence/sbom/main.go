// SPDX-License-Identifier: Apache-2.0

// Command sbom writes the software bill of materials of a Go program, from the
// build information in it: SPDX 2.3 in JSON, with the modules' versions and
// checksums.
//
//	go run ./internal/licence/sbom bin/pauseless bin/pauseless.spdx.json
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/pauseless/pauseless/internal/outfile"
)

type pkg struct {
	ID       string     `json:"SPDXID"`
	Name     string     `json:"name"`
	Version  string     `json:"versionInfo"`
	Download string     `json:"downloadLocation"`
	Files    bool       `json:"filesAnalyzed"`
	Sums     []checksum `json:"checksums,omitempty"`
	Refs     []ref      `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type ref struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relation struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM PROGRAM.spdx.json")
		os.Exit(2)
	}
	doc, err := document(os.Args[1])
	if err == nil {
		err = outfile.With(os.Args[2], 0o666, func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(doc)
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// document describes a program. The same bytes give the same document.
func document(program string) (map[string]any, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	bytes, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(bytes)
	main := pkg{ID: "SPDXRef-main", Name: info.Main.Path, Version: info.Main.Version, Download: "NOASSERTION",
		Sums: []checksum{{"SHA256", hex.EncodeToString(sum[:])}}}
	list := []pkg{main, {ID: "SPDXRef-go", Name: "go", Version: info.GoVersion, Download: "https://go.dev/dl/"}}
	relations := []relation{{"SPDXRef-DOCUMENT", "DESCRIBES", main.ID}, {main.ID, "DEPENDS_ON", "SPDXRef-go"}}
	created := "1970-01-01T00:00:00Z"
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			created = s.Value
		}
	}
	for i, m := range info.Deps {
		p := module(fmt.Sprint("SPDXRef-", i+1), m)
		list = append(list, p)
		relations = append(relations, relation{main.ID, "DEPENDS_ON", p.ID})
	}
	return map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": info.Main.Path,
		"documentNamespace": "https://" + info.Main.Path + "/sbom/" + hex.EncodeToString(sum[:]),
		"creationInfo":      map[string]any{"created": created, "creators": []string{"Tool: pauseless-sbom"}},
		"packages":          list, "relationships": relations,
	}, nil
}

func module(id string, m *debug.Module) pkg {
	if m.Replace != nil {
		m = m.Replace
	}
	p := pkg{ID: id, Name: m.Path, Version: m.Version, Download: "https://" + m.Path,
		Refs: []ref{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + m.Version}}}
	// go.sum's h1 is a SHA-256 of the module's files.
	if b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(b) == sha256.Size {
		p.Sums = []checksum{{"SHA256", hex.EncodeToString(b)}}
	}
	return p
}
