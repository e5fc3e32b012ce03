// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"strings"
	"testing"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// A match field that is given twice is an error, whatever its number. Before, the last
// value of a field beyond the 64th counted.
func TestMatchFieldsAreGivenOnce(t *testing.T) {
	const n = 70
	bt, e := &boundTable{name: "t"}, &p4v1.TableEntry{}
	give := func(id uint32) {
		e.Match = append(e.Match, &p4v1.FieldMatch{FieldId: id, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: []byte{1}}}})
	}
	for id := range uint32(n) {
		bt.fields = append(bt.fields, boundField{id: id + 1, name: "f", kind: p4configv1.MatchField_EXACT, width: 8})
		give(id + 1)
	}
	for _, twice := range []uint32{1, 64, 65, n} {
		give(twice)
		if _, err := bt.match(&device{}, e); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "given twice") {
			t.Errorf("field %d: %v", twice, err)
		}
		e.Match = e.Match[:n]
	}
}

// The errors of a batch of any size fit into the header in which gRPC sends
// them. Before, an error among 500,000 updates closed the connection, and the
// controller was no longer primary.
func TestErrorsOfAnyBatchFitAHeader(t *testing.T) {
	const header = 16 << 20 // what clients take, three quarters of it in base64
	for _, n := range []int{1, 20_000, maxDetails, maxDetails + 1, 500_000} {
		errs := make([]error, n)
		for i := range errs {
			errs[i] = status.Error(codes.Aborted, "not done, because another update of the batch failed")
		}
		errs[n/2] = status.Error(codes.AlreadyExists, "table t: the entry exists")
		err := batchError("Write failure.", errs)
		st := status.Convert(err)
		if st.Code() != codes.Unknown {
			t.Errorf("%d updates: %v", n, st.Code())
		}
		if size := proto.Size(st.Proto()); size > header*3/4 {
			t.Errorf("%d updates: %d bytes", n, size)
		}
		if n > maxDetails {
			if text := st.Message(); len(st.Details()) != 0 || !strings.Contains(text, "AlreadyExists: table t: the entry exists") {
				t.Errorf("%d updates: %d details, %q", n, len(st.Details()), text)
			}
			continue
		}
		list := st.Details()
		if len(list) != n {
			t.Fatalf("%d updates: %d details", n, len(list))
		}
		if e := list[n/2].(*p4v1.Error); e.CanonicalCode != int32(codes.AlreadyExists) {
			t.Errorf("%d updates: the one that failed has %v", n, e)
		}
	}
}

// A member of a value set has each field once. One field twice took the place of
// another that was missing.
func TestFieldsOfAValueSetsMember(t *testing.T) {
	d := &device{pipeline: &pipeline{}}
	set := &boundVSet{name: "v", width: 16, fields: []boundField{{id: 1, width: 8}, {id: 2, width: 8}}}
	match := func(id uint32, value byte) *p4v1.FieldMatch {
		return &p4v1.FieldMatch{FieldId: id, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: []byte{value}}}}
	}
	for _, c := range []struct {
		list []*p4v1.FieldMatch
		want uint64
		code codes.Code
	}{
		{[]*p4v1.FieldMatch{match(1, 3), match(2, 4)}, 0x304, codes.OK},
		{[]*p4v1.FieldMatch{match(2, 4), match(1, 3)}, 0x304, codes.OK},
		{[]*p4v1.FieldMatch{match(1, 3)}, 0, codes.InvalidArgument},
		{[]*p4v1.FieldMatch{match(1, 3), match(1, 4)}, 0, codes.InvalidArgument},
		{[]*p4v1.FieldMatch{match(1, 3), match(3, 4)}, 0, codes.InvalidArgument},
	} {
		v, err := set.parse(d, &p4v1.ValueSetMember{Match: c.list})
		if status.Code(err) != c.code || err == nil && v[0] != c.want {
			t.Errorf("%v: %#x, %v, want %#x, %v", c.list, v, err, c.want, c.code)
		}
	}
}
