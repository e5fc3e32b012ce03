// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// No lock is held during a send: a peer that does not receive blocks the
// sender, and with it all goroutines that wait for the lock. The analysis uses
// names and the order of the text: a lock is held from Lock or RLock to the
// next Unlock, or to the end of the function if that is deferred. Calls are
// followed within a package.
func TestNoLockIsHeldOverASend(t *testing.T) {
	talkers := []string{"softswitch/p4rtserver", "controlplane"}
	// Locks whose only purpose is to order sends.
	turns := []string{"s.sendMu"}
	packages := map[string][]*ast.File{}
	eachGoFile(t, func(name string, file *ast.File, _ []byte) {
		if dir := path.Dir(name); slices.Contains(talkers, dir) && !strings.HasSuffix(name, "_test.go") {
			packages[dir] = append(packages[dir], file)
		}
	})
	if len(packages) != len(talkers) {
		t.Fatalf("found %d of %v", len(packages), talkers)
	}
	for dir, files := range packages {
		for _, bad := range lockedSends(files, turns) {
			t.Errorf("%s: %s", dir, bad)
		}
	}
}

func TestLockedSends(t *testing.T) {
	for body, want := range map[string]bool{
		"s.mu.Lock(); defer s.mu.Unlock(); stream.Send(x)":                           true,
		"s.mu.RLock(); stream.SendMsg(x); s.mu.RUnlock()":                            true,
		"s.mu.Lock(); s.mu.Unlock(); stream.Send(x)":                                 false,
		"s.mu.Lock(); defer s.mu.Unlock(); for { if y { s.notify(x) } }":             true,
		"defer d.lock()(); s.notify(x)":                                              true,
		"unlock := d.lock(); unlock(); s.notify(x)":                                  false,
		"unlock := d.lock(); s.notify(x); unlock()":                                  true,
		"s.mu.Lock(); c <- x; s.mu.Unlock()":                                         true,
		"s.mu.Lock(); select { case c <- x: default: }; s.mu.Unlock()":               false,
		"s.mu.Lock(); select { case c <- x: case <-done: }; s.mu.Unlock()":           true,
		"s.mu.Lock(); defer s.mu.Unlock(); go func() { stream.Send(x) }()":           false,
		"s.mu.Lock(); defer s.mu.Unlock(); f := func() { s.notify(x) }; f()":         true,
		"s.turn.Lock(); defer s.turn.Unlock(); stream.Send(x)":                       false,
		"if y { s.mu.Lock(); s.mu.Unlock(); return }; stream.Send(x)":                false,
		"s.mu.Lock(); if y { s.mu.Unlock(); stream.Send(x); return }; s.mu.Unlock()": false,
	} {
		text := "package p\nfunc (s *S) f() { " + body + " }\nfunc (s *S) notify(x int) { s.deep(x) }\nfunc (s *S) deep(x int) { stream.Send(x) }\n"
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := lockedSends([]*ast.File{file}, []string{"s.turn"}); (len(got) > 0) != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

// lockedSends returns the sends under a lock, except the locks in turns.
func lockedSends(files []*ast.File, turns []string) []string {
	// Functions of the package that send, directly or through calls.
	sends := map[string]string{"Send": "Send", "SendMsg": "SendMsg", "Recv": "Recv", "RecvMsg": "RecvMsg"}
	each := func(do func(name string, body *ast.BlockStmt)) {
		for _, f := range files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					do(fn.Name.Name, fn.Body)
				}
			}
		}
	}
	for more := true; more; {
		more = false
		each(func(name string, body *ast.BlockStmt) {
			w := &lockWalk{sends: sends, turns: turns, free: true}
			w.walk(body)
			if len(w.found) > 0 && sends[name] == "" {
				sends[name], more = name, true
			}
		})
	}
	var list []string
	each(func(name string, body *ast.BlockStmt) {
		w := &lockWalk{sends: sends, turns: turns}
		w.walk(body)
		for _, f := range w.found {
			list = append(list, name+" "+f)
		}
	})
	return list
}

// lockWalk visits a function in the order of its text.
type lockWalk struct {
	sends map[string]string
	turns []string
	free  bool // sends without a lock are reported, too
	held  []string
	found []string
}

func (w *lockWalk) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			return false // another goroutine holds none of this one's locks
		case *ast.DeferStmt:
			// `defer d.lock()()` calls d.lock() immediately, and its result at the end.
			// `defer mu.Unlock()` holds the lock to the end.
			if inner, ok := n.Call.Fun.(*ast.CallExpr); ok {
				w.call(inner)
			}
			return false
		case *ast.SelectStmt:
			w.choice(n)
			return false
		case *ast.IfStmt:
			w.branch(n)
			return false
		case *ast.SendStmt:
			w.report("sends to a channel")
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" {
				return false // as a GoStmt
			}
			for _, arg := range n.Args {
				w.walk(arg)
			}
			if _, literal := n.Fun.(*ast.FuncLit); literal {
				return true
			}
			w.call(n)
			return false
		}
		return true
	})
}

// branch visits an if. The effect of a branch that returns on locks ends with
// it.
func (w *lockWalk) branch(n *ast.IfStmt) {
	if n.Init != nil {
		w.walk(n.Init)
	}
	w.walk(n.Cond)
	for _, b := range []ast.Stmt{n.Body, n.Else} {
		switch b := b.(type) {
		case *ast.BlockStmt:
			before := slices.Clone(w.held)
			w.walk(b)
			if len(b.List) > 0 {
				switch b.List[len(b.List)-1].(type) {
				case *ast.ReturnStmt, *ast.BranchStmt:
					w.held = before
				}
			}
		case *ast.IfStmt:
			w.branch(b)
		}
	}
}

// choice visits a select. With a default it never blocks.
func (w *lockWalk) choice(n *ast.SelectStmt) {
	waits := true
	for _, c := range n.Body.List {
		waits = waits && c.(*ast.CommClause).Comm != nil
	}
	for _, c := range n.Body.List {
		c := c.(*ast.CommClause)
		if _, send := c.Comm.(*ast.SendStmt); send && waits {
			w.report("sends to a channel")
		}
		for _, s := range c.Body {
			w.walk(s)
		}
	}
}

// call visits a call.
func (w *lockWalk) call(n *ast.CallExpr) {
	name, on := "", ""
	switch f := n.Fun.(type) {
	case *ast.SelectorExpr:
		name, on = f.Sel.Name, text(f.X)
	case *ast.Ident:
		name = f.Name
	case *ast.CallExpr:
		w.call(f)
	}
	switch {
	case name == "Lock" || name == "RLock":
		if !slices.Contains(w.turns, on) {
			w.held = append(w.held, on)
		}
	case name == "lock": // returns a function that unlocks
		w.held = append(w.held, on)
	case name == "Unlock" || name == "RUnlock":
		w.held = slices.DeleteFunc(w.held, func(h string) bool { return h == on })
	case name == "unlock":
		w.held = nil
	case w.sends[name] != "":
		w.report("calls " + name)
	}
}

func (w *lockWalk) report(what string) {
	switch {
	case w.free:
		w.found = append(w.found, what)
	case len(w.held) > 0:
		w.found = append(w.found, what+" while it holds "+strings.Join(w.held, ", "))
	}
}

// text returns an expression of names as text.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return text(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return text(e.Fun) + "()"
	}
	return ""
}
