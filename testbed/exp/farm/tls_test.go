// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/pauseless/pauseless/internal/infile"
)

// A device as a file of certificates or credentials is an error, and not read until
// the memory is used up.
func TestCredentialsWithoutEnd(t *testing.T) {
	const zero = "/dev/zero"
	for what, o := range map[string]Options{"CA": {CA: zero}, "certificate": {Cert: zero, Key: zero}} {
		if err := certificates(o)(new(nats.Options)); !errors.Is(err, infile.ErrSize) || !strings.Contains(err.Error(), zero) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := credentials(zero)(new(nats.Options)); !errors.Is(err, infile.ErrSize) || !strings.Contains(err.Error(), zero) {
		t.Errorf("credentials: %v", err)
	}
}

// Credentials are those of NATS's own option, also after the file was renewed.
func TestCredentialsAreThoseOfTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "user.creds")
	var o nats.Options
	for i, jwt := range []string{"first", "second"} {
		user, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		text := "-----BEGIN NATS USER JWT-----\n" + jwt + "\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n" + string(seed) + "\n------END USER NKEY SEED------\n"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := credentials(name)(&o); err != nil {
				t.Fatal(err)
			}
		}
		got, err := o.UserJWT()
		if err != nil || got != jwt {
			t.Errorf("%q, %v", got, err)
		}
		sig, err := o.SignatureCB([]byte("nonce"))
		if err != nil || user.Verify([]byte("nonce"), sig) != nil {
			t.Errorf("signature of %s: %v", jwt, err)
		}
	}
}
