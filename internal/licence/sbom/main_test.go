// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"reflect"
	"testing"
)

func TestDocument(t *testing.T) {
	self, err := os.Executable() // a Go program, if a small one
	if err != nil {
		t.Fatal(err)
	}
	a, err := document(self)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := document(self); err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("the same program is described twice in different ways: %v", err)
	}
	list := a["packages"].([]pkg)
	if len(list) < 2 || len(list[0].Sums) != 1 || list[1].Name != "go" || list[1].Version == "" {
		t.Errorf("packages: %+v", list)
	}
	if _, err := document("main.go"); err == nil {
		t.Error("a text is described")
	}
}
