// SPDX-License-Identifier: Apache-2.0

// Package need skips the tests that need what is not there: a program, a
// right, time. Every skip says what is missing, in one form:
//
//	SKIP: simple_switch_grpc is not on PATH, and BMV2 is not set
package need

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// No skips the test if err says that something is missing.
func No(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Skipf("SKIP: %v", err)
	}
}

// Time skips the test under -short; why says what takes so long.
func Time(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		No(t, fmt.Errorf("not with -short: %s", why))
	}
}

// Tool returns the path of a program, or skips the test.
func Tool(t testing.TB, variable, name string) string {
	t.Helper()
	path, err := Find(variable, name)
	No(t, err)
	return path
}

// Find returns the path of a program: the file that an environment variable
// names, or the one in the directory that it names, or the one on PATH. An
// empty variable is none.
func Find(variable, name string) (string, error) {
	at := ""
	if variable != "" {
		at = os.Getenv(variable)
	}
	if at == "" {
		path, err := exec.LookPath(name)
		if err != nil && variable != "" {
			return "", fmt.Errorf("%s is not on PATH, and %s is not set", name, variable)
		}
		if err != nil {
			return "", fmt.Errorf("%s is not on PATH", name)
		}
		return path, nil
	}
	if st, err := os.Stat(at); err == nil && st.IsDir() {
		at = filepath.Join(at, name)
	}
	if _, err := exec.LookPath(at); err != nil {
		return "", fmt.Errorf("%s=%s is no program", variable, at)
	}
	return at, nil
}
