// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"strings"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

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
