// SPDX-License-Identifier: Apache-2.0

//go:build js && wasm

// The playground's WebAssembly: package testbed/playground for a worker of a
// browser. It sets globalThis.pauseless to functions that take and return
// texts, and JSON.
package main

import (
	"context"
	"encoding/json"
	"syscall/js"
	"time"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/testbed/playground"
)

func main() {
	text := func(f func(args []js.Value) any) js.Func {
		return js.FuncOf(func(_ js.Value, args []js.Value) any { return asJSON(f(args)) })
	}
	type profile struct {
		P4       string               `json:"p4"`
		Problems []playground.Problem `json:"problems"`
	}
	js.Global().Set("pauseless", map[string]any{
		"profiles": text(func([]js.Value) any { return playground.Profiles() }),
		"profile": text(func(args []js.Value) any {
			text, err := playground.Profile(args[0].String())
			if err != nil {
				return ""
			}
			return text
		}),
		"generate": text(func(args []js.Value) any {
			p4, problems := playground.Generate(args[0].String())
			return profile{p4, problems}
		}),
		"compile": text(func(args []js.Value) any { return playground.Compile(args[0].String()) }),
		"check":   text(func(args []js.Value) any { return playground.Check(args[0].String()) }),
		"run":     js.FuncOf(run),
	})
	if ready := js.Global().Get("pauselessReady"); ready.Type() == js.TypeFunction {
		ready.Invoke()
	}
	select {}
}

// run takes a scenario, edits as JSON, and a function for progress; it
// returns a promise of an outcome as JSON.
func run(_ js.Value, args []js.Value) any {
	scenario, progress := args[0].String(), args[2]
	var edits map[string]playground.Edit
	if err := json.Unmarshal([]byte(args[1].String()), &edits); err != nil {
		panic("BUG: edits: " + err.Error())
	}
	executor := js.FuncOf(func(_ js.Value, settle []js.Value) any {
		go func() {
			var last time.Time
			out := playground.Run(context.Background(), scenario, edits, func(label string, p fabric.Progress) {
				if now := time.Now(); now.Sub(last) > 200*time.Millisecond {
					last = now
					progress.Invoke(label, p.FlowsDone, p.Flows, p.Now.Seconds()*1000)
				}
			})
			settle[0].Invoke(asJSON(out))
		}()
		return nil
	})
	defer executor.Release()
	return js.Global().Get("Promise").New(executor)
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(text)
}
