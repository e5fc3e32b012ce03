// SPDX-License-Identifier: Apache-2.0

// Pauseless generates, compiles, runs, controls and evaluates P4 data planes
// for lossless Ethernet. See `pauseless --help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// Exit codes of every verb.
const (
	exitOK     = 0
	exitFailed = 1 // the verb failed
	exitUsage  = 2 // the command line is wrong
	exitStuck  = 3 // runs of an experiment did not finish: flows cannot proceed
)

// run executes a command line and returns the exit code. Tests call it.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := untilSignal()
	defer stop()
	root := newRootCmd()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	strict(root, args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	err = missingFile(cmd, err)
	printError(stderr, err)
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	var stuck stuckError
	if errors.As(err, &stuck) {
		return exitStuck
	}
	return exitFailed
}

// signalled is a context that a signal cancels. It catches signals from when it is
// first asked whether it is done: a verb that does not ask, or still reads its
// files, ends at once.
type signalled struct {
	context.Context
	catch func()
}

func (s signalled) Done() <-chan struct{} {
	s.catch()
	return s.Context.Done()
}

func (s signalled) Err() error {
	s.catch()
	return s.Context.Err()
}

// untilSignal returns a context for a command line, and its end. The first signal
// cancels the context, so that verbs end in order; a second one ends the program at
// once, but not if it is the same: timeout sends it twice, to the process and to
// its group.
func untilSignal() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	return signalled{ctx, sync.OnceFunc(func() {
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
		go func() {
			select {
			case <-caught:
				cancel()
				time.Sleep(200 * time.Millisecond)
			case <-ctx.Done():
			}
			signal.Stop(caught)
		}()
	})}, cancel
}

func newRootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:   "pauseless",
		Short: "Simulate, run and compare P4 data planes for lossless Ethernet",
		Long: `Generate, compile, simulate, run and control P4 data planes for lossless Ethernet,
and compare published load balancers and congestion controls.

Exit codes: 0 success; 1 an error; 2 a wrong command line; 3 flows of a run did not
finish (fabric run, exp run), or packets were not as expected (fabric run).`,
		Example: `  pauseless demo                                    # a first run, with a report
  pauseless exp run rlb-fig3-victims                # an experiment of a paper
  pauseless exp new mine.yaml                       # a file for one of your own
  pauseless fabric run scenario.yaml --dir out      # one simulation
  pauseless gen --profile rlb-drill -o out          # the P4 program of a profile
  pauseless switch router.p4 --port 1@if:veth0 --port 2@if:veth2
  pauseless ctl --addr 127.0.0.1:9559 tables        # look into a running switch`,
		Version:       versionText(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var schemes string
	root.PersistentFlags().StringVar(&schemes, "schemes", os.Getenv("PAUSELESS_SCHEMES"), "`FOLDER`: further schemes (default: $PAUSELESS_SCHEMES)")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if _, without := cmd.Annotations[withoutSchemes]; schemes == "" || without {
			return nil
		}
		return gen.AddSchemes(schemes)
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageErrorf(cmd, "%v%s", err, likeFlag(cmd, err)) })
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"simulate", "Simulate and compare:", []*cobra.Command{newDemoCmd(), newFabricCmd(), newTraceCmd(), newExpCmd(), newReportCmd(), newLiveCmd()}},
		{"write", "Write P4:", []*cobra.Command{newGenCmd(), newCompileCmd(), newFmtCmd(), newSTFCmd()}},
		{"run", "Run and control switches:", []*cobra.Command{newSwitchCmd(), newCtlCmd(), newDeployCmd(), newHostCmd(), newTofinoCmd()}},
		{"other", "Other:", []*cobra.Command{newSchemaCmd(), newWiresharkCmd()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	boundNumbers(root)
	namePlaceholders(root)
	return root
}

// withoutSchemes is the annotation of verbs that do not use --schemes.
const withoutSchemes = "without schemes"

// printError prints an error: diagnostics with their source lines, any other
// error, and text before diagnostics, after the program's name.
func printError(w io.Writer, err error) {
	var list diag.List
	if errors.As(err, &list) {
		if before, ok := strings.CutSuffix(err.Error(), list.Error()); ok && before != "" {
			fmt.Fprintf(w, "pauseless: %s\n", strings.TrimRight(before, ": "))
		}
		diag.Print(w, list, func(file string) []byte {
			text, err := infile.Read(file)
			if err != nil {
				return nil
			}
			return text
		})
		return
	}
	io.WriteString(w, "pauseless: "+diag.PrintableLines(err.Error())+"\n") // it may have texts of peers
}
