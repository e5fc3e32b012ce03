// SPDX-License-Identifier: Apache-2.0

package source

import "github.com/pauseless/pauseless/internal/diag"

// CodeTooMany is that of the error that stands for those beyond MaxErrors.
const CodeTooMany diag.Code = "too-many-errors"

// MaxErrors is how many errors a Reporter keeps before it says that there
// are too many.
const MaxErrors = 100

// Reporter collects what the passes of a compilation have to say about the
// text of a Set.
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

// Fail notes an error that is in the list already, put there by other means.
func (r *Reporter) Fail() { r.errors++ }

// Failed reports whether an error was reported.
func (r *Reporter) Failed() bool { return r.errors > 0 }

// Full reports whether there were so many errors that further ones would not help.
func (r *Reporter) Full() bool { return r.errors > MaxErrors }
