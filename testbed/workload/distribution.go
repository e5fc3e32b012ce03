// SPDX-License-Identifier: Apache-2.0

// Package workload makes the traffic of experiments: flow sizes from measured
// distributions, Poisson arrivals at a given load, incast, bursts, coflows and
// recorded traces. The same specification, network and seed give the same
// flows.
package workload

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
)

//go:embed data/*.txt
var data embed.FS

// Distribution is a distribution of flow sizes: points of its cumulative
// function with straight lines between them. Two points of the same size are
// a probability of exactly that size.
type Distribution struct {
	name   string
	points []point
}

type point struct {
	bytes float64
	share float64 // of flows that are no bigger, from 0 to 1
}

// Names returns the names of the built-in distributions.
func Names() []string {
	files, err := fs.Glob(data, "data/*.txt")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(f, "data/"), ".txt")
	}
	return files
}

// load returns a built-in distribution or, if there is none of that name, reads
// the file. See Parse for the format.
func load(open Open, name string) (*Distribution, error) {
	if text, err := data.ReadFile("data/" + name + ".txt"); err == nil {
		return Parse(name, string(text))
	}
	text, err := open.all(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("no distribution is called %q%s, and there is no such file; there are %s",
			name, diag.DidYouMean(name, Names()), strings.Join(Names(), ", "))
	}
	return Parse(name, string(text))
}

// Parse reads a distribution: on each line a size in bytes and the share of
// flows that are no bigger, as a fraction or in percent, both in ascending
// order, the share from 0 to 1 or 100. Lines that start with # say where it
// comes from. An error is a diag.List.
func Parse(name, text string) (*Distribution, error) {
	d := &Distribution{name: name}
	var list diag.List
	line := int32(0)
	fail := func(format string, args ...any) {
		list.Errorf(diag.MakePos(&name, line, 1), "distribution", format, args...)
	}
	for l := range strings.Lines(text) {
		line++
		fields := strings.Fields(l)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		if len(fields) != 2 {
			fail("expected a size in bytes and a share, as in \"10000 0.15\"")
			continue
		}
		p := point{number(fields[0]), number(fields[1])}
		switch n := len(d.points); {
		case !(p.bytes >= 0 && p.bytes <= 1e12):
			fail("size %q must be a number of bytes from 0 to 1e12", fields[0])
		case !(p.share >= 0 && p.share <= 100):
			fail("share %q must be a number from 0 to 1, or to 100 in percent", fields[1])
		case n == 0 && p.share != 0:
			fail("the first share is %g, must be 0", p.share)
		case n > 0 && (p.bytes < d.points[n-1].bytes || p.share < d.points[n-1].share):
			fail("size and share must not be less than those before")
		default:
			d.points = append(d.points, p)
		}
	}
	if err := list.Err(); err != nil {
		return nil, err
	}
	if len(d.points) < 2 {
		line = 0
		fail("the file has fewer than two points")
		return nil, list.Err()
	}
	last := d.points[len(d.points)-1]
	if last.share != 1 && last.share != 100 {
		fail("the last share is %g, must be 1 or 100", last.share)
		return nil, list.Err()
	}
	for i := range d.points {
		d.points[i].share /= last.share
	}
	if d.Mean() < 1 {
		line = 0
		fail("the average size of flows is less than a byte")
		return nil, list.Err()
	}
	return d, nil
}

func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// Name returns the name it was loaded by.
func (d *Distribution) Name() string { return d.name }

// Mean returns the average size in bytes.
func (d *Distribution) Mean() float64 {
	var sum float64
	for i := 1; i < len(d.points); i++ {
		a, b := d.points[i-1], d.points[i]
		sum += (b.share - a.share) * (a.bytes + b.bytes) / 2
	}
	return sum
}

// Quantile returns the size in bytes, at least one, that a share u of flows
// does not exceed.
func (d *Distribution) Quantile(u float64) int64 {
	i, _ := slices.BinarySearchFunc(d.points, u, func(p point, u float64) int {
		if p.share < u {
			return -1
		}
		return 1
	})
	if i == 0 {
		i = 1
	}
	if i == len(d.points) {
		i--
	}
	a, b := d.points[i-1], d.points[i]
	v := b.bytes
	if b.share > a.share {
		v = a.bytes + (b.bytes-a.bytes)*max(u-a.share, 0)/(b.share-a.share)
	}
	return max(int64(v), 1)
}

// Share returns the share of flows of at most the given size.
func (d *Distribution) Share(bytes float64) float64 {
	var s float64
	for i, p := range d.points {
		if p.bytes <= bytes {
			s = p.share
			continue
		}
		if i > 0 {
			a := d.points[i-1]
			s = a.share + (p.share-a.share)*(bytes-a.bytes)/(p.bytes-a.bytes)
		}
		break
	}
	return s
}
