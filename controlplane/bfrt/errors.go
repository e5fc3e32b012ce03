// SPDX-License-Identifier: Apache-2.0

package bfrt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	"github.com/pauseless/pauseless/internal/diag"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error is the answer of a switch to one entry of a request.
type Error struct {
	Table   string
	Code    codes.Code
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("table %s: %s (%v)", e.Table, e.Message, e.Code) }

// unreached says that a server cannot be reached, and why, with its address once.
func unreached(address string, err error) error {
	why := status.Convert(err).Message()
	if _, dial, ok := strings.Cut(why, "Error while dialing: "); ok {
		why = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(dial, `"`), "dial tcp "+address+": "), "connect: ")
	}
	return fmt.Errorf("cannot reach %s: %s", address, diag.PrintableLines(why))
}

// Missing reports whether an error says only that an entry does not exist.
func Missing(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == codes.NotFound
}

// explain returns the errors of a request's entries. A server answers with the
// code Unknown, and with an Error for each entry in the details, of which those
// with the code 0 are no errors. table returns the table of an entry.
func explain(err error, table func(i int) string) error {
	var list []error
	for i, d := range status.Convert(err).Details() {
		if e, ok := d.(*bfrtpb.Error); ok && e.CanonicalCode != 0 {
			list = append(list, &Error{table(i), codes.Code(e.CanonicalCode), e.Message})
		}
	}
	switch len(list) {
	case 0:
		return err
	case 1:
		return list[0]
	}
	return errors.Join(list...)
}
