// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"
)

//go:embed pauseless.lua
var dissector string

func newWiresharkCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "wireshark",
		Short: "Print the plugin with which Wireshark and tshark dissect what pauseless sends",
		Long: `Print the Lua plugin with which Wireshark and tshark dissect the header between
leaves, warnings and other messages of switches, tags of hosts, postcards and
telemetry. What these headers carry is dissected as usual.`,
		Example: `  pauseless wireshark > pauseless.lua
  wireshark -X lua_script:pauseless.lua capture.pcap
  pauseless wireshark > ~/.local/lib/wireshark/plugins/pauseless.lua`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), dissector)
			return err
		},
	}
}
