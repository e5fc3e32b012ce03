// SPDX-License-Identifier: Apache-2.0

// Package causes tells why links were paused: the queue where each storm of pauses began
// and why it could not drain, how the pauses spread, and which flows waited although none
// of their packets went there. docs/pauses.md has the definitions.
//
// It works in two steps. A Recorder looks at the queues of a switch or a host only when a
// PAUSE is sent, begins or ends. A packet costs nothing on the way, except in queues that it
// has looked at: of these it keeps what they hold, 16 bytes per packet, because to walk
// through a queue at each pause costs a cache miss per packet. Report then joins what the
// nodes have recorded. Each node's record is written only by the goroutine that runs the
// node.
package causes
