// SPDX-License-Identifier: Apache-2.0

package infile

import "crypto/tls"

// KeyPair reads a certificate and its key, two PEM files of at most Text bytes each,
// as tls.LoadX509KeyPair does.
func KeyPair(cert, key string) (tls.Certificate, error) {
	c, err := Read(cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	k, err := Read(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(c, k)
}
