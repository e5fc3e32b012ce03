// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// Ask sends a request to the control socket of a relay and returns its answer.
func Ask(control string, q Request) (Stats, error) {
	conn, err := net.DialTimeout("unix", control, patience)
	if err != nil {
		return Stats{}, fmt.Errorf("the relay of the links does not answer: %w", err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	if err := json.NewEncoder(conn).Encode(q); err != nil {
		return Stats{}, fmt.Errorf("the relay of the links does not answer: %w", err)
	}
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		return Stats{}, fmt.Errorf("the relay of the links does not answer: %w", err)
	}
	var s Stats
	if err := json.Unmarshal(line, &s); err != nil {
		return Stats{}, fmt.Errorf("the relay of the links answers %q: %w", line, err)
	}
	if s.Error != "" {
		return s, errors.New(s.Error)
	}
	return s, nil
}

// patience is how long an answer may take, on a busy machine.
const patience = 30 * time.Second
