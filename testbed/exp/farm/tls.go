// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/nats-io/nats.go"

	"github.com/pauseless/pauseless/internal/infile"
)

// certificates is the option for TLS with the files of o. The files are read for each
// connection, so that they can be renewed, and are limited in size, which NATS's own
// options are not.
func certificates(o Options) nats.Option {
	var pair nats.TLSCertHandler
	if o.Cert != "" || o.Key != "" {
		pair = func() (tls.Certificate, error) { return infile.KeyPair(o.Cert, o.Key) }
	}
	var pool nats.RootCAsHandler
	if o.CA != "" {
		pool = func() (*x509.CertPool, error) { return infile.Authorities(o.CA) }
	}
	return nats.ClientTLSConfig(pair, pool)
}

// credentials is the option for a file of NATS credentials, which is read for each
// connection as well.
func credentials(name string) nats.Option {
	read := func() (o nats.Options, err error) {
		text, err := infile.Read(name)
		if err != nil {
			return o, err
		}
		err = nats.UserCredentialBytes(text)(&o)
		return o, err
	}
	return nats.UserJWT(func() (string, error) {
		o, err := read()
		if err != nil {
			return "", err
		}
		return o.UserJWT()
	}, func(nonce []byte) ([]byte, error) {
		o, err := read()
		if err != nil {
			return nil, err
		}
		return o.SignatureCB(nonce)
	})
}
