# SPDX-License-Identifier: Apache-2.0
# A Ruby program that feeds the GPU, as exam_python.py does: usage: exam_ruby.rb LIBCUDA WAY   (--ways: prints their names)
require "fiddle"
require "json"

ROUNDS = 20
BUSY_S = 0.025
OWN_S = 0.005

def number
  Fiddle::Function.new(Fiddle::Handle::DEFAULT["gettid"], [], Fiddle::TYPE_INT).call
end

def open_cuda(path)
  cuda = Fiddle.dlopen(path)
  cu_init = Fiddle::Function.new(cuda["cuInit"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT)
  types = [Fiddle::TYPE_VOIDP] + [Fiddle::TYPE_INT] * 7 + [Fiddle::TYPE_VOIDP] * 3
  $launch = Fiddle::Function.new(cuda["cuLaunchKernel"], types, Fiddle::TYPE_INT)
  cu_init.call(0)
  launch
end

def launch
  $launch.call(0x1000, 1, 1, 1, 1, 1, 1, 0, nil, nil, nil)
end

def now(clock = Process::CLOCK_MONOTONIC)
  Process.clock_gettime(clock, :nanosecond)
end

def compute(seconds = BUSY_S)
  stop = now(Process::CLOCK_THREAD_CPUTIME_ID) + seconds * 1e9
  nil while now(Process::CLOCK_THREAD_CPUTIME_ID) < stop
end

def without_cpu
  File.read("/proc/thread-self/schedstat").split[1].to_i
end

# Time in the block in which this thread did not run, and what of it it was ready to.
def timed
  cpu_begin, own, begun = without_cpu, now(Process::CLOCK_THREAD_CPUTIME_ID), now
  yield
  $lost += now - begun - (now(Process::CLOCK_THREAD_CPUTIME_ID) - own)
  $lost_cpu += without_cpu - cpu_begin
end

def rounds
  ROUNDS.times do
    launch
    compute OWN_S
    timed { yield }
  end
  launch
end

def lost(to, did = "on-cpu")
  {lost_ns: $lost, lost_cpu_ns: $lost_cpu, to: to, did: did}
end

def thread
  ready = Queue.new
  Thread.new do
    ready << number
    yield
  end
  [ready.pop]
end

WAYS = {
  # A thread has the interpreter's lock; each launch gives it away, and wants it back.
  "interpreter_lock" => lambda do
    asked, done = Queue.new, 0
    to = thread { (compute; done += 1) while asked.pop }
    ROUNDS.times do |i|
      asked << 1
      timed { launch while done <= i }
      compute OWN_S
    end
    lost(to)
  end,
  "queue" => lambda do
    asked, done = Queue.new, Queue.new
    to = thread { (compute; done << 1) while asked.pop }
    rounds do
      asked << 1
      done.pop
    end
    lost(to)
  end,
  "mutex" => lambda do
    asked, has, mine = Queue.new, Queue.new, Mutex.new
    to = thread { mine.synchronize { has << 1; compute } while asked.pop }
    ROUNDS.times do
      launch
      compute OWN_S
      asked << 1
      timed do # for the interpreter's lock, too
        has.pop
        mine.synchronize {}
      end
    end
    launch
    lost(to)
  end,
  "child" => lambda do
    ask, asked = IO.pipe
    answered, answer = IO.pipe
    pid = fork do
      asked.close
      (compute; answer.syswrite("x")) while ask.read(1)
      exit!
    end
    rounds do
      asked.syswrite("x")
      answered.sysread(1)
    end
    asked.close
    Process.wait(pid)
    lost([pid])
  end,
  "program" => lambda do
    rounds { system("head -c 700000 /dev/urandom | gzip -9 >/dev/null") }
    lost("children")
  end,
  "idle_threads" => lambda do # a decoy
    4.times { thread { Queue.new.pop } }
    200.times { launch; compute 0.004 }
    {}
  end,
  "naps" => lambda do # a decoy
    100.times { launch; compute 0.002; sleep 0.008 }
    {}
  end,
}

if ARGV[1] == "--ways"
  puts WAYS.keys.join(" ")
  exit
end
open_cuda(ARGV[0])
$lost = $lost_cpu = 0
truth = WAYS.fetch(ARGV[1]).call
puts JSON.generate(truth.merge(feeder: number, cpu_wait_ns: without_cpu))
