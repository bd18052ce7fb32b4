// SPDX-License-Identifier: Apache-2.0
// Go: a function with several returns called from goroutines that move between threads, and one whose calls grow the stack.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync"
)

var sink int

//go:noinline
func work(value int) int {
	switch value % 5 {
	case 0:
		return value * 3
	case 1:
		runtime.Gosched()
		return sink + 1
	case 2:
		return tiny(value)
	}
	return value
}

//go:noinline
func tiny(value int) int {
	return value + sink
}

//go:noinline
func deep(level int) int {
	var room [512]byte
	room[level%512] = byte(level)
	if level == 0 {
		return int(room[0])
	}
	return deep(level-1) + int(room[level%512])
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	lines.ReadString('\n')
	var group sync.WaitGroup
	for g := 0; g < 7; g++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 149; i++ {
				work(i)
			}
			deep(100)
		}()
	}
	group.Wait()
	fmt.Println("done")
	lines.ReadString('\n')
}
