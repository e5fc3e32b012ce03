// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/pauseless/pauseless/internal/diag"
)

// An Expr is a formula over numbers, such as "max(xoff - in_flight, 0)". It
// computes the default of a parameter from the network, or an argument of an
// action from parameters. It has Go's operators + - * / % and comparisons,
// whose value is 1 or 0, names, names with a dot, and functions.
type Expr string

// scope has the values of the names and functions of an Expr.
type scope struct {
	values map[string]float64
	funcs  map[string]func(args []float64) float64
	params func(name string) (float64, error) // of names with a dot
}

// mathFuncs are in every scope, each with its number of arguments; -1 is any.
var mathFuncs = map[string]struct {
	args int
	call func([]float64) float64
}{
	"min":   {-1, func(x []float64) float64 { return slices.Min(x) }},
	"max":   {-1, func(x []float64) float64 { return slices.Max(x) }},
	"floor": {1, func(x []float64) float64 { return math.Floor(x[0]) }},
	"ceil":  {1, func(x []float64) float64 { return math.Ceil(x[0]) }},
	"round": {1, func(x []float64) float64 { return math.Round(x[0]) }},
	"log2":  {1, func(x []float64) float64 { return math.Log2(x[0]) }},
	"pow":   {2, func(x []float64) float64 { return math.Pow(x[0], x[1]) }},
	// path_set(width, first, count, of) is a set of count paths among of,
	// cyclically from first on, as bits: the highest of width is path 0.
	"path_set": {4, pathSet},
	// slot_shift(rtt) and slot_weight(rtt) are how a round trip is measured in slots.
	"slot_shift":  {1, func(x []float64) float64 { s, _ := slots(x[0]); return float64(s) }},
	"slot_weight": {1, func(x []float64) float64 { _, w := slots(x[0]); return float64(w) }},
	// cond(c, a, b) is a if c is not 0, otherwise b.
	"cond": {3, func(x []float64) float64 {
		if x[0] != 0 {
			return x[1]
		}
		return x[2]
	}},
}

func pathSet(x []float64) float64 {
	width, first, count, of := int(x[0]), int(x[1]), int(x[2]), int(x[3])
	if first < 0 || of < 1 || of > width || width > 52 {
		return math.NaN()
	}
	set := uint64(0)
	for i := range count {
		set |= 1 << (width - 1 - (first+i)%of)
	}
	return float64(set)
}

// trees caches parsed formulas: there are few, and each is evaluated many times.
var trees sync.Map // of ast.Expr, by Expr

func (e Expr) parse() (ast.Expr, error) {
	if tree, ok := trees.Load(e); ok {
		return tree.(ast.Expr), nil
	}
	tree, err := parser.ParseExpr(string(e))
	if err != nil {
		return nil, fmt.Errorf("%q is not a formula: %v", string(e), err)
	}
	trees.Store(e, tree)
	return tree, nil
}

// eval returns the value of an expression.
func (e Expr) eval(s *scope) (float64, error) {
	tree, err := e.parse()
	if err != nil {
		return 0, err
	}
	v, err := s.eval(tree)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", string(e), err)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("the value of %q is not a finite number", string(e))
	}
	return v, nil
}

// Parameters returns the names with a dot in an expression: those of parameters,
// and of properties of a switch.
func (e Expr) Parameters() ([]string, error) {
	tree, err := e.parse()
	if err != nil {
		return nil, err
	}
	var names []string
	ast.Inspect(tree, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := sel.X.(*ast.Ident); ok {
				names = append(names, of.Name+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return names, nil
}

func (s *scope) eval(n ast.Expr) (float64, error) {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return s.eval(n.X)
	case *ast.BasicLit:
		if n.Kind == token.INT || n.Kind == token.FLOAT {
			if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
				return float64(v), nil
			}
			return strconv.ParseFloat(n.Value, 64)
		}
	case *ast.Ident:
		if v, ok := s.values[n.Name]; ok {
			return v, nil
		}
		return 0, fmt.Errorf("unknown name %s%s", n.Name, diag.DidYouMean(n.Name, slices.Sorted(maps.Keys(s.values))))
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok {
			name := x.Name + "." + n.Sel.Name
			if v, ok := s.values[name]; ok {
				return v, nil
			}
			if s.params == nil {
				return 0, fmt.Errorf("%s cannot be used in this formula", name)
			}
			return s.params(name)
		}
	case *ast.UnaryExpr:
		if v, err := s.eval(n.X); n.Op == token.SUB {
			return -v, err
		}
	case *ast.BinaryExpr:
		return s.binary(n)
	case *ast.CallExpr:
		return s.call(n)
	}
	return 0, fmt.Errorf("%T cannot be used in a formula", n)
}

func (s *scope) binary(n *ast.BinaryExpr) (float64, error) {
	x, err := s.eval(n.X)
	if err != nil {
		return 0, err
	}
	y, err := s.eval(n.Y)
	if err != nil {
		return 0, err
	}
	truth := func(yes bool) (float64, error) {
		if yes {
			return 1, nil
		}
		return 0, nil
	}
	switch n.Op {
	case token.ADD:
		return x + y, nil
	case token.SUB:
		return x - y, nil
	case token.MUL:
		return x * y, nil
	case token.QUO:
		return x / y, nil
	case token.REM:
		return math.Mod(x, y), nil
	case token.GTR:
		return truth(x > y)
	case token.LSS:
		return truth(x < y)
	case token.EQL:
		return truth(x == y)
	}
	return 0, fmt.Errorf("%s cannot be used in a formula", n.Op)
}

func (s *scope) call(n *ast.CallExpr) (float64, error) {
	name, ok := n.Fun.(*ast.Ident)
	if !ok {
		return 0, fmt.Errorf("%T cannot be used in a formula", n.Fun)
	}
	call, count := s.funcs[name.Name], 1
	if f, ok := mathFuncs[name.Name]; ok {
		call, count = f.call, f.args
	}
	if call == nil {
		known := append(slices.Collect(maps.Keys(mathFuncs)), slices.Collect(maps.Keys(s.funcs))...)
		slices.Sort(known)
		return 0, fmt.Errorf("unknown function %s%s", name.Name, diag.DidYouMean(name.Name, known))
	}
	if len(n.Args) == 0 || count > 0 && len(n.Args) != count {
		return 0, fmt.Errorf("%s takes %d arguments, not %d", name.Name, max(count, 1), len(n.Args))
	}
	var args []float64
	for _, a := range n.Args {
		v, err := s.eval(a)
		if err != nil {
			return 0, err
		}
		args = append(args, v)
	}
	return call(args), nil
}
