// SPDX-License-Identifier: Apache-2.0

package ir

// WalkStmts calls f for all statements of the list, recursively.
func WalkStmts(list []Stmt, f func(Stmt)) {
	for _, s := range list {
		f(s)
		switch s := s.(type) {
		case *If:
			WalkStmts(s.Then, f)
			WalkStmts(s.Else, f)
		case *Block:
			WalkStmts(s.Body, f)
		case *Loop:
			WalkStmts(s.Before, f)
			WalkStmts(s.Body, f)
			WalkStmts(s.Update, f)
		case *Apply:
			WalkStmts(s.Hit, f)
			WalkStmts(s.Miss, f)
			for _, c := range s.Cases {
				WalkStmts(c.Body, f)
			}
		}
	}
}
