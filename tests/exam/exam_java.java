// SPDX-License-Identifier: Apache-2.0
// A Java program that feeds the GPU and loses time in one way: a subject of tests/tools/exam.py (see exam_python.py).
// usage: Exam LIBRARY WAY        (--ways: prints their names)
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.SynchronousQueue;

class Exam {
	static native void launch();
	static native long tid();

	static final int ROUNDS = 20, OWN_MS = 5, BUSY_MS = 25;
	static long lostNs;
	static final Set<Long> whom = ConcurrentHashMap.newKeySet();
	static volatile List<byte[]> kept;

	static void compute(long ms) {
		long end = System.nanoTime() + ms * 1000000;
		while (System.nanoTime() < end) {
		}
	}

	static void start(Runnable body) {
		Thread thread = new Thread(body, "worker");
		thread.setDaemon(true);
		thread.start();
	}

	/** A worker computes, and hands over. */
	static void queue() throws Exception {
		SynchronousQueue<Integer> asked = new SynchronousQueue<>(), done = new SynchronousQueue<>();
		start(() -> {
			whom.add(tid());
			try {
				while (true) {
					asked.take();
					compute(BUSY_MS);
					done.put(1);
				}
			} catch (InterruptedException e) {
				throw new RuntimeException(e);
			}
		});
		for (int i = 0; i < ROUNDS; i++) {
			launch();
			compute(OWN_MS);
			long begin = System.nanoTime();
			asked.put(1);
			done.take();
			lostNs += System.nanoTime() - begin;
		}
	}

	/** A pool of threads computes. */
	static void pool() throws Exception {
		for (int i = 0; i < ROUNDS; i++) {
			launch();
			compute(OWN_MS);
			long begin = System.nanoTime();
			CompletableFuture.runAsync(() -> {
				whom.add(tid());
				compute(BUSY_MS);
			}).get();
			lostNs += System.nanoTime() - begin;
		}
	}

	/** A monitor that another thread has while it works. */
	static void monitor() throws Exception {
		Object lock = new Object();
		SynchronousQueue<Integer> asked = new SynchronousQueue<>(), has = new SynchronousQueue<>();
		start(() -> {
			whom.add(tid());
			try {
				while (true) {
					asked.take();
					synchronized (lock) {
						has.put(1);
						compute(BUSY_MS);
					}
				}
			} catch (InterruptedException e) {
				throw new RuntimeException(e);
			}
		});
		for (int i = 0; i < ROUNDS; i++) {
			launch();
			compute(OWN_MS);
			asked.put(1);
			has.take();
			long begin = System.nanoTime();
			synchronized (lock) {
				lostNs += System.nanoTime() - begin;
			}
		}
	}

	/** Another thread makes garbage, and whoever collects it stops them all. */
	static void collector() throws Exception {
		start(() -> {
			List<byte[]> all = new ArrayList<>();
			while (true) {
				for (int i = 0; i < 120; i++) {
					all.add(new byte[10000]);
				}
				kept = all;
				if (all.size() > 8000) {
					all = new ArrayList<>();
				}
				compute(1);
			}
		});
		long end = System.nanoTime() + 1500000000L;
		while (System.nanoTime() < end) {
			launch();
			compute(1);
		}
		for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
			lostNs += bean.getCollectionTime() * 1000000;
		}
		try (var threads = Files.list(Path.of("/proc/self/task"))) {
			for (Path thread : (Iterable<Path>) threads::iterator) {
				String name = Files.readString(thread.resolve("comm")).strip();
				if (name.equals("VM Thread") || name.startsWith("GC Thread") || name.startsWith("G1 ")) {
					whom.add(Long.parseLong(thread.getFileName().toString()));
				}
			}
		}
	}

	/** A decoy: nobody is waited for. */
	static void alone() {
		for (int i = 0; i < 300; i++) {
			launch();
			compute(3);
		}
	}

	public static void main(String[] args) throws Exception {
		if (args[1].equals("--ways")) {
			System.out.println("queue pool monitor collector alone");
			return;
		}
		System.load(args[0]);
		launch();
		switch (args[1]) {
			case "queue" -> queue();
			case "pool" -> pool();
			case "monitor" -> monitor();
			case "collector" -> collector();
			default -> alone();
		}
		launch();
		System.out.println("{\"feeder\": " + tid() + ", \"cpu_wait_ns\": " +
			Files.readString(Path.of("/proc/thread-self/schedstat")).split(" ")[1] + (whom.isEmpty() ? "" :
			", \"lost_ns\": " + lostNs + ", \"to\": " + whom + ", \"did\": \"on-cpu\"") + "}");
	}
}
