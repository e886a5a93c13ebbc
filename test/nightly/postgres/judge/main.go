// Judges histories of a directory: whether every answer can be explained by one directory that does one
// thing after the other, with checks that are late by no more than the staleness bound.
//
// It reads a history from each line of standard input, and prints a verdict for each, in the same order:
// `ok`; `violation`, with what could not be explained; or `undecided`, when the time was not enough.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

var (
	timeout  = flag.Duration("timeout", 20*time.Second, "longest time for a history")
	pictures = flag.String("pictures", "", "folder for a picture of each history that is not ok")
)

type verdict struct {
	Seed       int     `json:"seed"`
	Verdict    string  `json:"verdict"`
	DurationMs float64 `json:"duration_ms"`
	// Operations that are in no explanation of the most operations that can be explained.
	Unexplained []string `json:"unexplained,omitempty"`
	// Where the picture is.
	Picture string `json:"picture,omitempty"`
}

var model = porcupine.Model{
	Init: func() any { return opening() },
	Step: func(state, input, _ any) (bool, any) {
		return state.(directory).step(input.(*operation))
	},
	Equal:             func(one, other any) bool { return one.(directory) == other.(directory) },
	DescribeOperation: func(input, _ any) string { return input.(*operation).describe() },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	var histories []*history
	for lines.Scan() {
		var one history
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return fmt.Errorf("line %d: %w", len(histories)+1, err)
		}
		histories = append(histories, &one)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	verdicts, errs := make([]verdict, len(histories)), make([]error, len(histories))
	var judging sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for index, one := range histories {
		judging.Add(1)
		turns <- struct{}{}
		go func() {
			defer judging.Done()
			verdicts[index], errs[index] = judge(one)
			<-turns
		}()
	}
	judging.Wait()
	output := json.NewEncoder(os.Stdout)
	for index, verdict := range verdicts {
		if errs[index] != nil {
			return fmt.Errorf("seed %d: %w", histories[index].Seed, errs[index])
		}
		if err := output.Encode(verdict); err != nil {
			return err
		}
	}
	return nil
}

func judge(one *history) (verdict, error) {
	began := time.Now()
	prepared, err := one.prepare()
	if err != nil {
		return verdict{}, err
	}
	result := porcupine.CheckOperationsTimeout(model, prepared, *timeout)
	found := verdict{Seed: one.Seed, DurationMs: float64(time.Since(began).Microseconds()) / 1000}
	switch result {
	case porcupine.Ok:
		found.Verdict = "ok"
		return found, nil
	case porcupine.Illegal:
		found.Verdict = "violation"
	default:
		found.Verdict = "undecided"
	}
	// Again, for what a reader needs to see.
	_, info := porcupine.CheckOperationsVerbose(model, prepared, *timeout)
	found.Unexplained = unexplained(one, info)
	if *pictures != "" {
		found.Picture = filepath.Join(*pictures, fmt.Sprintf("history-%d.html", one.Seed))
		if err := porcupine.VisualizePath(model, info, found.Picture); err != nil {
			return found, err
		}
	}
	return found, nil
}

// unexplained describes the operations that the longest explanation lacks.
func unexplained(one *history, info porcupine.LinearizationInfo) []string {
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, partial := range partition {
			if len(partial) > len(longest) {
				longest = partial
			}
		}
	}
	var explained operations
	for _, o := range longest {
		explained = explained.with(o.Input.(*operation).index)
	}
	var missing []string
	for _, o := range one.Operations {
		if !explained.has(o.index) {
			missing = append(missing, o.describe())
		}
	}
	return missing
}
