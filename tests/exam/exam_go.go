// SPDX-License-Identifier: Apache-2.0
// A Go program that feeds the GPU and loses time in one way: a subject of tests/tools/exam.py (see exam_python.py).
package main

// int cuInit(unsigned flags);
// int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
//                    unsigned shared, void *stream, void **arguments, void **extra);
// static void launch(void) { cuLaunchKernel((void *)0x1000, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0); }
import "C"

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	rounds = 20
	own    = 5 * time.Millisecond
	busy   = 25 * time.Millisecond
)

func compute(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// A worker with a thread of its own; its number.
func start(body func()) int {
	tid := make(chan int)
	go func() {
		runtime.LockOSThread()
		tid <- syscall.Gettid()
		body()
	}()
	return <-tid
}

func lost(d time.Duration, to interface{}) map[string]interface{} {
	return map[string]interface{}{"lost_ns": d.Nanoseconds(), "to": to, "did": "on-cpu"}
}

func channel() map[string]interface{} {
	asked, done := make(chan int), make(chan int)
	to := start(func() {
		for range asked {
			compute(busy)
			done <- 1
		}
	})
	var waited time.Duration
	for i := 0; i < rounds; i++ {
		C.launch()
		compute(own)
		begin := time.Now()
		asked <- 1
		<-done
		waited += time.Since(begin)
	}
	return lost(waited, []int{to})
}

func mutex() map[string]interface{} {
	var lock sync.Mutex
	asked, has := make(chan int), make(chan int)
	to := start(func() {
		for range asked {
			lock.Lock()
			has <- 1
			compute(busy)
			lock.Unlock()
		}
	})
	var waited time.Duration
	for i := 0; i < rounds; i++ {
		C.launch()
		compute(own)
		asked <- 1
		<-has
		begin := time.Now()
		lock.Lock()
		waited += time.Since(begin)
		lock.Unlock()
	}
	return lost(waited, []int{to})
}

func program() map[string]interface{} {
	shell := exec.Command("sh", "-c", "while read -r line; do head -c 700000 /dev/urandom | gzip -9 | wc -c; done")
	in, _ := shell.StdinPipe()
	out, _ := shell.StdoutPipe()
	if err := shell.Start(); err != nil {
		panic(err)
	}
	lines := bufio.NewReader(out)
	var waited time.Duration
	for i := 0; i < rounds; i++ {
		C.launch()
		compute(own)
		begin := time.Now()
		fmt.Fprintln(in, "x")
		if _, err := lines.ReadString('\n'); err != nil {
			panic(err)
		}
		waited += time.Since(begin)
	}
	in.Close()
	return lost(waited, "children")
}

// A decoy: many goroutines that wait for nothing.
func idle() map[string]interface{} {
	for i := 0; i < 100; i++ {
		go func() { select {} }()
	}
	for i := 0; i < 300; i++ {
		C.launch()
		compute(3 * time.Millisecond)
	}
	return map[string]interface{}{}
}

func main() {
	runtime.LockOSThread()
	C.cuInit(0)
	C.launch()
	ways := map[string]func() map[string]interface{}{"channel": channel, "mutex": mutex, "program": program, "idle": idle}
	if os.Args[1] == "--ways" {
		for name := range ways {
			fmt.Println(name)
		}
		return
	}
	truth := ways[os.Args[1]]()
	C.launch()
	truth["feeder"] = syscall.Gettid()
	account, _ := os.ReadFile("/proc/thread-self/schedstat")
	var ran, waited int64
	fmt.Sscan(string(account), &ran, &waited)
	truth["cpu_wait_ns"] = waited
	text, _ := json.Marshal(truth)
	fmt.Println(string(text))
}
