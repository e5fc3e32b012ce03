// SPDX-License-Identifier: Apache-2.0

package source

import "github.com/pauseless/pauseless/internal/diag"

// CodeTooMany is the code of the error that replaces those beyond MaxErrors.
const CodeTooMany diag.Code = "too-many-errors"

// MaxErrors is the number of errors that a Reporter reports before CodeTooMany.
const MaxErrors = 100

// Reporter collects the diagnostics of all passes about the text of a Set.
type Reporter struct {
	Set  *Set
	List diag.List

	errors int
}

// Errorf reports an error at p.
func (r *Reporter) Errorf(p Pos, code diag.Code, format string, args ...any) {
	r.errors++
	switch {
	case r.errors <= MaxErrors:
		r.List.Errorf(r.Set.Position(p), code, format, args...)
	case r.errors == MaxErrors+1:
		r.List.Errorf(r.Set.Position(p), CodeTooMany, "too many errors; the rest is not reported")
	}
}

// Warnf reports a warning at p.
func (r *Reporter) Warnf(p Pos, code diag.Code, format string, args ...any) {
	if len(r.List) < 4*MaxErrors {
		r.List.Warnf(r.Set.Position(p), code, format, args...)
	}
}

// Fail counts an error that the caller has added to the list itself.
func (r *Reporter) Fail() { r.errors++ }

// Failed reports whether an error was reported.
func (r *Reporter) Failed() bool { return r.errors > 0 }

// Full reports whether more than MaxErrors errors were reported.
func (r *Reporter) Full() bool { return r.errors > MaxErrors }
