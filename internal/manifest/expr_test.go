// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

var link = Network{Rate: 40 * vtime.Gbps, Delay: 2 * vtime.Microsecond, Hops: 2, FanIn: 3, XOFF: 256 * vtime.KB, MTU: 1100}

func TestFormulas(t *testing.T) {
	m := &Manifest{Program: "p", Units: Units{Nanoseconds, Cells80}, Parameters: []Parameter{
		{Name: "x.derived", Default: "2 * delay"},
		{Name: "x.given", Value: 7, Given: true, Default: "1"},
		{Name: "x.by_rate", Value: 7, Given: true, Default: "1", ByRate: map[string]float64{"40Gbps": 9}},
	}}
	for formula, want := range map[Expr]float64{
		"1 + 2 * 3":                        7,
		"(1 + 2) * -3":                     -9,
		"100_000 / 8":                      12_500,
		"rate / 1e9":                       40,
		"in_flight":                        10_000,
		"max(xoff - in_flight * 2, 1)":     236_000,
		"cond(2 > 1, 5, 6)":                5,
		"floor(log2(1000)) + pow(2, 3)":    17,
		"x.derived":                        4000,
		"x.given + x.by_rate":              16,
		"node.id * 2":                      6,
		"bytes(0.2) + bytes(0) + round(1)": 2,
		"depth(161)":                       2,
		"quantum(rate)":                    13107,
	} {
		if got, err := m.Evaluate(formula, link, map[string]float64{"node.id": 3}); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", formula, got, err, want)
		}
	}
}

func TestFormulasThatAreNone(t *testing.T) {
	m := &Manifest{Program: "p", Units: Units{Nanoseconds, Cells80}}
	for formula, want := range map[Expr]string{
		"":                             "is not a formula",
		"1 +":                          "is not a formula",
		"rat":                          `unknown name rat (did you mean "rate"?)`,
		"x.y":                          "program p has no parameter x.y",
		"flor(1)":                      `unknown function flor (did you mean "floor"?)`,
		"floor(1, 2)":                  "floor takes 1 arguments, not 2",
		"min()":                        "min takes 1 arguments, not 0",
		"1 / 0":                        "is not a finite number",
		"rate << 2":                    "<< cannot be used in a formula",
		`"text"`:                       "cannot be used in a formula",
		"func() int { return 1 }()":    "cannot be used in a formula",
		"a.b.c":                        "cannot be used in a formula",
		Expr(strings.Repeat("(", 1e6)): "is not a formula",
	} {
		if got, err := m.Evaluate(formula, link, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s is %v, %v, want an error with %q", string(formula), got, err, want)
		}
	}
}
