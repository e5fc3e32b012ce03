// SPDX-License-Identifier: Apache-2.0

package tofino

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// The committed report is shown unchanged, to the last percentage.
func TestACommittedReportIsRead(t *testing.T) {
	const file = "../../docs/results/tofino.json"
	programs, err := ReadRows(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want []Row
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	base := make(map[string]string)
	for _, r := range want {
		base[r.Program] = r.Base
	}
	got := NewReport(programs, func(p string) string { return base[p] }).Rows()
	for i := range want {
		if !reflect.DeepEqual(got[i].Used, want[i].Used) || !reflect.DeepEqual(got[i].Percent, want[i].Percent) || got[i].Stages != want[i].Stages {
			t.Errorf("%s: got %+v, want %+v", want[i].Program, got[i], want[i])
		}
	}
	if _, err := ReadRows("rows.go"); err == nil || !strings.Contains(err.Error(), "rows.go is not a report") {
		t.Errorf("got %v", err)
	}
}
