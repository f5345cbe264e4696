// SPDX-License-Identifier: Apache-2.0
// A Node.js program that feeds the GPU and loses time in one way: a subject of tests/tools/exam.py (see exam_python.py).
// usage: exam_node.js ADDON WAY        (--ways: prints their names)
const { Worker, isMainThread, workerData, parentPort } = require('worker_threads');
const { readFileSync, readdirSync } = require('fs');
const { spawn, execFileSync } = require('child_process');
const zlib = require('zlib');

const ROUNDS = 20, OWN_MS = 5, BUSY_MS = 25;
const ways = { atomics, message, pool, child_answers, child_ends, idle_worker };

function compute(ms) {
	const end = performance.now() + ms;
	while (performance.now() < end);
}

// The worker: computes when asked, by a number in shared memory or by a message.
function work() {
	const addon = require(workerData.addon), shared = workerData.shared;
	Atomics.store(shared, 1, addon.tid());
	Atomics.notify(shared, 1);
	if (workerData.by_message) {
		parentPort.on('message', () => { compute(BUSY_MS); parentPort.postMessage(1); });
		return;
	}
	for (let i = 1; ; i++) {
		Atomics.wait(shared, 0, i - 1);
		compute(BUSY_MS);
		Atomics.store(shared, 2, i);
		Atomics.notify(shared, 2);
	}
}

function start(by_message) {
	const shared = new Int32Array(new SharedArrayBuffer(16));
	const worker = new Worker(__filename, { workerData: { shared, by_message, addon: process.argv[2] } });
	return [worker, shared];
}

function off_cpu(addon) { // this thread's clock, less the time that it ran
	return process.hrtime.bigint() - addon.ran();
}

async function rounds(addon, wait) { // feeds and waits in turn: for how long it waited
	let ns = 0n;
	for (let i = 0; i < ROUNDS; i++) {
		addon.launch();
		compute(OWN_MS);
		const begin = off_cpu(addon);
		await wait(i);
		ns += off_cpu(addon) - begin;
	}
	addon.launch();
	return Number(ns);
}

async function atomics(addon) { // the main thread sleeps in a futex
	const [worker, shared] = start(false);
	await new Promise((done) => setTimeout(done, 200));
	const lost_ns = await rounds(addon, (i) => {
		Atomics.store(shared, 0, i + 1);
		Atomics.notify(shared, 0);
		Atomics.wait(shared, 2, i);
	});
	worker.terminate();
	return { lost_ns, to: [shared[1]], did: 'on-cpu' };
}

async function message(addon) { // the event loop waits
	const [worker, shared] = start(true);
	await new Promise((done) => setTimeout(done, 200));
	const lost_ns = await rounds(addon, (i) => {
		worker.postMessage(i);
		return new Promise((done) => worker.once('message', done));
	});
	worker.terminate();
	return { lost_ns, to: [shared[1]], did: 'on-cpu' };
}

async function child_answers(addon) { // another program computes, and writes a line
	const script = 'while read -r line; do head -c 700000 /dev/urandom | gzip -9 | wc -c; done';
	const shell = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
	const lost_ns = await rounds(addon, () => {
		shell.stdin.write('x\n');
		return new Promise((done) => shell.stdout.once('data', done));
	});
	shell.stdin.end();
	return { lost_ns, to: 'children', did: 'on-cpu' };
}

function noise() {
	return Buffer.from(Array.from({ length: 400000 }, (_, i) => (i * 2654435761) >>> 13 & 255));
}

function cpu_ns(tid) {
	return Number(readFileSync(`/proc/self/task/${tid}/schedstat`, 'ascii').split(' ')[0]);
}

async function pool(addon) { // a thread of the library's pool compresses
	const data = noise();
	const lost_ns = await rounds(addon, () => new Promise((done) => zlib.gzip(data, { level: 9 }, done)));
	const others = readdirSync('/proc/self/task').map(Number).filter((tid) => tid !== process.pid && cpu_ns(tid) > 50e6);
	return { lost_ns, to: others, did: 'on-cpu' };
}

async function child_ends(addon) { // another program compresses, and the call waits until it has ended
	const data = noise();
	const lost_ns = await rounds(addon, () => { execFileSync('gzip', ['-9'], { input: data }); });
	return { lost_ns, to: 'children', did: 'on-cpu' };
}

async function idle_worker(addon) { // a decoy
	const [worker] = start(true);
	for (let i = 0; i < 200; i++) {
		addon.launch();
		compute(OWN_MS);
	}
	worker.terminate();
	return {};
}

async function main() {
	if (process.argv[3] === '--ways') {
		console.log(Object.keys(ways).join(' '));
		return;
	}
	const addon = require(process.argv[2]);
	addon.launch();
	const truth = await ways[process.argv[3]](addon);
	const cpu_wait_ns = Number(readFileSync('/proc/thread-self/schedstat', 'ascii').split(' ')[1]);
	console.log(JSON.stringify({ ...truth, cpu_wait_ns, feeder: addon.tid() }));
}

if (isMainThread) main(); else work();
