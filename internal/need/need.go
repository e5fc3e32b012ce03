// SPDX-License-Identifier: Apache-2.0

// Package need skips tests whose requirements are not met: a program, a
// privilege, time. Every skip names the missing requirement, in one form:
//
//	SKIP: simple_switch_grpc is not on PATH, and BMV2 is not set
package need

import (
	"fmt"
	"testing"

	"github.com/pauseless/pauseless/internal/tool"
)

// No skips the test if err is not nil.
func No(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Skipf("SKIP: %v", err)
	}
}

// Time skips the test under -short. Why is the reason for its long run time.
func Time(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		No(t, fmt.Errorf("not with -short: %s", why))
	}
}

// Tool returns the path of a program, or skips the test.
func Tool(t testing.TB, variable, name string) string {
	t.Helper()
	path, err := tool.Find("", variable, name)
	No(t, err)
	return path
}
