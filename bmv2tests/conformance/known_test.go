// SPDX-License-Identifier: Apache-2.0

package conformance

// Programs that are known to fail, each with the reason.

var knownCompile = map[string]string{
	"parser-unroll-test1": "casts a number of run time to int, which has no size at run time; p4c takes it as 0",
}

var knownP4Info = map[string]string{
	"global_action_after_exit": "p4c lists an action that is called only behind an exit; we drop what is never run first",
	"issue2735-bmv2":           "p4c drops a register that is not used if its type was named by a typedef; we list it, like any other register",
}

var knownSoft = map[string]string{}

var knownSimple = map[string]string{}

var knownAccepted = map[string]string{
	"issue3299": "a switch statement in an action, which BMv2 can run as jumps",
}

var knownElsewhere = map[string]string{
	"issue1986":   "the error is at the case, the wrong line; p4c names the select expression around it",
	"issue1986-1": "the error is at the case, the wrong line; p4c names the select expression around it",
	"issue3299":   "a switch statement in an action, which BMv2 can run as jumps",
}

// Programs with an expected P4Info in the checkout, of p4c's front end, that
// p4c-bm2-ss does not compile.
var rejectedBehind = map[string]bool{
	"array1":                      true,
	"array2":                      true,
	"bitwise-and":                 true,
	"extern-funcs-bmv2":           true,
	"hashing-non-tuple-bmv2":      true,
	"issue1193-bmv2":              true,
	"issue1524":                   true,
	"issue1765-1-bmv2":            true,
	"issue1765-bmv2":              true,
	"issue1882-1-bmv2":            true,
	"issue1882-bmv2":              true,
	"issue2344":                   true,
	"issue2664-bmv2":              true,
	"issue2735":                   true,
	"issue3091":                   true,
	"issue3225":                   true,
	"issue3394":                   true,
	"issue407-2":                  true,
	"issue407-3":                  true,
	"issue584-1-bmv2":             true,
	"issue692-bmv2":               true,
	"issue841":                    true,
	"issue887":                    true,
	"issue907-bmv2":               true,
	"issue986-bmv2":               true,
	"next-def-use":                true,
	"parser-unroll-test3":         true,
	"parser-unroll-test4":         true,
	"parser-unroll-test5":         true,
	"psa-drop-all-bmv2":           true,
	"psa-drop-all-corrected-bmv2": true,
}
