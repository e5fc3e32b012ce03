// SPDX-License-Identifier: Apache-2.0

// Package report draws the results of runs as one HTML file that needs
// nothing else: the table, the distribution of flow completion times, queues
// and pauses over time, and the registers the controller read.
package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/pauseless/pauseless/testbed/result"
)

//go:embed report.html.tmpl
var page string

var tmpl = template.Must(template.New("report").Parse(page))

// figure is an SVG picture and what it shows.
type figure struct {
	Title, Caption string
	SVG            template.HTML
}

// Write draws the runs, all of one scenario, as an HTML page.
func Write(w io.Writer, title string, runs []*result.Run) error {
	if len(runs) == 0 {
		return fmt.Errorf("report %q: no runs to draw", title)
	}
	var table bytes.Buffer
	if err := result.Table(&table, runs); err != nil {
		return err
	}
	figures, err := drawAll(runs)
	if err != nil {
		return err
	}
	return tmpl.Execute(w, map[string]any{
		"Title": title, "Table": table.String(), "Figures": figures, "Runs": runs,
	})
}

// drawAll makes all figures for which the runs have data.
func drawAll(runs []*result.Run) ([]figure, error) {
	var figures []figure
	add := func(f figure, err error) error {
		if err == nil && f.SVG != "" {
			figures = append(figures, f)
		}
		return err
	}
	if err := add(fctCDF(runs)); err != nil {
		return nil, err
	}
	if err := add(slowdownBySize(runs)); err != nil {
		return nil, err
	}
	for _, r := range runs {
		if err := add(timeline(r)); err != nil {
			return nil, err
		}
	}
	return figures, nil
}
