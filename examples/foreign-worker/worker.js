/**
 * A worker that is not Millrace: it speaks the protocol of `proto/` and runs fragments of queries with DuckDB.
 *
 *   node worker.js --server HOST:GRPC[,...] [--id NAME] [--slots N] [--listen HOST:PORT] [--folder DIR] [--proto DIR]
 */
import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import grpc from '@grpc/grpc-js';
import { DuckDBInstance } from '@duckdb/node-api';
import { Cluster, loadProtocol } from './cluster.js';
import { InputLost, Unable, runFragment } from './fragment.js';
import { Outputs } from './outputs.js';

const PROTOCOL_VERSION = 5;
const POLL_MS = 20_000;
const TIDY_MS = 10_000;
const CHUNK_BYTES = 1024 * 1024;

const { values: given } = parseArgs({
  options: {
    server: { type: 'string', default: '127.0.0.1:7071' },
    id: { type: 'string', default: `foreign-${process.pid}` },
    slots: { type: 'string', default: '2' },
    listen: { type: 'string', default: '127.0.0.1:0' },
    folder: { type: 'string', default: join(tmpdir(), `foreign-worker-${process.pid}`) },
    proto: { type: 'string', default: new URL('../../proto', import.meta.url).pathname },
  },
});

const slots = Number(given.slots);
const token = process.env.MILLRACE_TOKEN ?? '';
const protocol = loadProtocol(given.proto);
const cluster = new Cluster(protocol, given.server.split(','), token);
const outputs = new Outputs();
const address = await listen(given.listen);
const duckdb = await duckdbVersion();

/** What this session runs, by `job.task.fence`. */
const running = new Map();
let session = '';
let heartbeatMs = 3_000;
let polls = 0;
let seenPoll = 0;
let isDraining = false;
const life = new AbortController();

await register();
console.log(`foreign worker ready ${given.id} ${address}`);
for (const name of ['SIGTERM', 'SIGINT']) process.once(name, () => void leave());
void heartbeats();
void tidying();
await polling();

/** Opens a session. Whoever has lost one begins anew: its tasks are somebody else's now. */
async function register() {
  for (const { control } of running.values()) control.abort();
  running.clear();
  session = randomUUID();
  polls = 0;
  seenPoll = 0;
  const offer = {
    ...who(),
    slots,
    executors: ['sql.fragment'],
    capabilities_json: Buffer.from(JSON.stringify({ duckdb })),
    address,
    protocol_version: PROTOCOL_VERSION,
    duckdb_version: duckdb,
  };
  for (;;) {
    try {
      const answer = await cluster.ask('ControlPlane', 'RegisterWorker', offer);
      heartbeatMs = answer.heartbeat_ms;
      return;
    } catch (error) {
      // A worker of this name has crashed, and its session has not expired yet.
      if (error.code !== 'conflict' && error.code !== 'name_taken') throw error;
      await sleep(500);
    }
  }
}

function who() {
  return { worker_id: given.id, session_id: session };
}

/** The session may have ended while nobody led, or because this process slept for too long. */
async function orRegister(error) {
  if (error.code !== 'unknown_session' && error.code !== 'superseded') throw error;
  console.error(`${error.message}`);
  await register();
}

async function heartbeats() {
  while (!life.signal.aborted) {
    await sleep(heartbeatMs);
    const of = session;
    const beat = {
      ...who(),
      at_ms: Date.now(),
      running_tasks: running.size,
      held: held(),
      seen_poll: seenPoll,
    };
    try {
      obey(await cluster.ask('HeartbeatService', 'Heartbeat', beat, { signal: life.signal }));
    } catch (error) {
      if (life.signal.aborted) return;
      if (of === session) await orRegister(error).catch((why) => console.error(why.message));
    }
  }
}

function held() {
  return [...running.values()].map(({ task }) => task.lease);
}

async function polling() {
  while (!life.signal.aborted) {
    const capacity = isDraining ? 0 : slots - running.size;
    if (capacity <= 0) {
      await Promise.race([...running.values()].map(({ done }) => done).concat(sleep(100)));
      continue;
    }
    const of = session;
    polls += 1;
    const poll = { ...who(), capacity, poll_no: polls, held: held(), wait_ms: POLL_MS };
    try {
      const answer = await cluster.ask('ControlPlane', 'GetTask', poll, {
        deadlineMs: POLL_MS + 10_000,
        signal: life.signal,
      });
      if (of !== session) continue;
      seenPoll = poll.poll_no;
      for (const task of answer.tasks) begin(task);
      obey(answer);
    } catch (error) {
      if (life.signal.aborted) return;
      if (of === session) await orRegister(error);
    }
  }
}

function obey({ orders }) {
  for (const lease of orders?.abort ?? []) running.get(nameOf(lease))?.control.abort();
  if (orders?.drain) isDraining = true;
}

function begin(task) {
  const name = nameOf(task.lease);
  if (running.has(name)) return;
  const control = new AbortController();
  const done = run(task, control.signal)
    .catch((error) => console.error(`${name}: ${error.stack}`))
    .finally(() => running.get(name)?.control === control && running.delete(name));
  running.set(name, { task, control, done });
}

async function run(task, signal) {
  const key = {
    query_id: task.query_id,
    stage_id: task.stage_id,
    task_id: task.task_id,
    attempt: task.attempt,
    fence: task.lease.fence,
  };
  const folder = join(
    given.folder,
    `${task.query_id}.${task.stage_id}.${task.task_id}.${key.fence}`,
  );
  await report(task, { started: {} }, signal);
  const fragment = JSON.parse(task.plan_fragment_json);
  let made;
  try {
    const fetchPartition = (at, partition) => partitionOf(task.query_id, at, partition);
    made = await runFragment(fragment, folder, fetchPartition, signal);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    if (signal.aborted) return void (await report(task, { aborted: {} }, life.signal));
    return void (await report(task, failureOf(error), signal));
  }
  const partitions = await outputs.keep(key, folder, made.files, made.rowsOf);
  const isResult = fragment.output.kind === 'result';
  const register = () =>
    isResult
      ? registerRows(key, made.files[0][0], partitions[0].rows, signal)
      : registerOutput(key, partitions, signal);
  for (let verdict = 'VERDICT_NOT_REGISTERED'; verdict === 'VERDICT_NOT_REGISTERED';) {
    // A new leader has not heard of it, and asks again.
    await register();
    verdict = await report(task, { completed: {} }, signal);
    if (verdict === 'VERDICT_LOST' || isResult) await outputs.drop(key.query_id, key);
  }
}

function failureOf(error) {
  const words = { code: 'query_failed', message: error.message };
  if (error instanceof InputLost)
    return { input_lost: { lost: error.lost, error: { ...words, code: 'input_lost' } } };
  // The next attempt goes to another worker, if there is one.
  const failure = 'FAILURE_CLASS_RETRYABLE';
  return { failed: { error: error instanceof Unable ? unable(error) : words, failure } };
}

function unable({ message }) {
  return { code: 'unsupported', message: `This worker does not support ${message}.` };
}

async function report(task, what, signal) {
  const { query_id, stage_id, task_id, attempt, lease } = task;
  const reports = [{ query_id, stage_id, task_id, attempt, lease, ...what }];
  const answer = await cluster.ask(
    'ControlPlane',
    'ReportTaskStatus',
    { ...who(), reports },
    { signal },
  );
  obey(answer);
  return answer.verdicts[0];
}

function registerOutput({ task_id: map_task, ...key }, partitions, signal) {
  const request = { ...key, map_task, partitions, layout_version: 1, ...who() };
  return cluster.ask('ShuffleService', 'RegisterMapOutput', request, { signal });
}

/** In chunks; a leader that was just elected wants them from the first one on. */
async function registerRows(key, path, rows, signal) {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    for (let chunk = 0, isLast = false; !isLast;) {
      const at = chunk * CHUNK_BYTES;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, at);
      isLast = at + bytesRead >= size;
      const request = {
        ...key,
        ...who(),
        chunk,
        ipc_payload: buffer.subarray(0, bytesRead),
        last: isLast,
        rows,
      };
      try {
        await cluster.ask('ControlPlane', 'RegisterQueryResults', request, { signal });
        chunk += 1;
      } catch (error) {
        if (error.code !== 'conflict' || chunk === 0) throw error;
        chunk = 0;
        isLast = false;
      }
    }
  } finally {
    await file.close();
  }
}

/** Own files, or the bytes of a partition from the worker that has it. */
async function partitionOf(queryId, at, partition) {
  const [stage_id, map_task] = at.task.slice(1).split('.').map(Number);
  const own = outputs.filesOf(
    { query_id: queryId, stage_id, task_id: map_task, fence: at.fence },
    partition,
  );
  if (own !== null) return own;
  if (at.address === null) throw new InputLost(at, 'its worker does not listen');
  const range = {
    ...{ query_id: queryId, stage_id, map_task, fence: at.fence, reduce_partition: partition },
    ...{ layout_version: at.layout, min_stream_epoch: at.epoch },
  };
  const chunks = [];
  try {
    const stream = cluster.stream(at.address, 'ShuffleService', 'FetchShufflePartition', range);
    for await (const { payload } of stream) chunks.push(payload);
  } catch (error) {
    throw new InputLost(at, error.message);
  }
  return Buffer.concat(chunks);
}

async function tidying() {
  while (!life.signal.aborted) {
    await sleep(TIDY_MS, undefined, { ref: false });
    if (outputs.queries.length === 0) continue;
    const request = { ...who(), query_ids: outputs.queries };
    try {
      const { query_ids } = await cluster.ask('ControlPlane', 'FindUnneededOutputs', request, {
        signal: life.signal,
      });
      for (const id of query_ids) await outputs.drop(id);
    } catch {
      // The next round asks again.
    }
  }
}

/** Ends the session: what it holds goes to others at once. */
async function leave() {
  isDraining = true;
  for (const { control } of running.values()) control.abort();
  await Promise.allSettled([...running.values()].map(({ done }) => done));
  life.abort();
  await cluster
    .call(given.server.split(',')[0], 'ControlPlane', 'DeregisterWorker', who())
    .catch(() => {});
  await rm(given.folder, { recursive: true, force: true });
  process.exit(0);
}

function nameOf({ job_no, task_no, fence }) {
  return `${job_no}.${task_no}.${fence}`;
}

async function listen(at) {
  const server = new grpc.Server();
  const isAllowed = (metadata) =>
    token === '' || metadata.get('authorization')[0] === `Bearer ${token}`;
  server.addService(protocol.v1.ShuffleService.service, outputs.service(isAllowed));
  const port = await new Promise((resolve, reject) => {
    server.bindAsync(at, grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return `${at.slice(0, at.lastIndexOf(':'))}:${port}`;
}

/** As the leader's fragments require it: `v1.5.6`. */
async function duckdbVersion() {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const [[version]] = (await connection.runAndReadAll('SELECT version()')).getRows();
  connection.closeSync();
  instance.closeSync();
  return version;
}
