// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"errors"
	"fmt"
)

// sealBegin is before the checksum of a sealed text, sealEnd is after it.
const (
	sealBegin = ",\n \"sha256\": \""
	sealEnd   = "\"\n}"
)

// Seal returns the text of a JSON object with a last field, sha256: the checksum of
// all that is before this field. Outcomes and the data of figures are written so.
func Seal(text []byte) []byte {
	body := bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(text), []byte("}")))
	return fmt.Appendf(bytes.Clone(body), "%s%s%s\n", sealBegin, hash(body), sealEnd)
}

// errChanged is the error of a text that has been changed since it was sealed.
var errChanged = errors.New("it is not as it was written: its checksum is another; copy the file again, or remove \"sha256\" if you have changed it on purpose")

// CheckSeal returns an error if a text has been changed since Seal returned it. Texts
// without a seal are accepted: earlier versions wrote none, and other programs that
// write the file anew lay it out in another way.
func CheckSeal(text []byte) error {
	body, sum, ok := cutSeal(text)
	if ok && hash(body) != sum {
		return errChanged
	}
	return nil
}

// cutSeal splits a sealed text.
func cutSeal(text []byte) (body []byte, sum string, ok bool) {
	text, ok = bytes.CutSuffix(bytes.TrimSpace(text), []byte(sealEnd))
	if n := len(text) - len(hash(nil)); ok && n >= 0 {
		sum = string(text[n:])
		body, ok = bytes.CutSuffix(text[:n], []byte(sealBegin))
		return body, sum, ok
	}
	return nil, "", false
}
