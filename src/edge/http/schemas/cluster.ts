/** Nodes, schedules, events and problems, as the API shows them. */
import { LOG_KINDS } from '../../../scheduler/core/index.ts';
import { ROLES } from '../../security/index.ts';
import {
  anything,
  described,
  flag,
  listOf,
  moment,
  oneOf,
  orNull,
  record,
  ref,
  type Schema,
  text,
  whole,
} from './schema.ts';

const ASKED_AT = { seq: 42, at: '2026-11-15T02:00:01.000Z' };
const LEADER_EXAMPLE = {
  nodeId: 'n-1',
  url: 'http://10.0.0.1:7070',
  grpc: '10.0.0.1:7071',
  epoch: 3,
};

const NODE_EXAMPLE = {
  id: 'w-1',
  status: 'healthy',
  draining: false,
  slots: 8,
  running: 2,
  executors: ['echo', 'http'],
  capabilities: { cpu_cores: 8 },
  address: '10.0.0.2:7072',
  version: '0.1.0',
  quarantinedUntil: null,
  registeredAt: '2026-11-15T01:00:00.000Z',
  seenAt: '2026-11-15T02:00:00.000Z',
  figures: {
    residentBytes: 212e6,
    shuffleBytes: 1_480_000,
    diskFreeBytes: 51e9,
    fetchBytesPerSecond: 0,
  },
};

const nodeFields: Readonly<Record<string, Schema>> = {
  id: text,
  status: oneOf(['healthy', 'stale', 'dead']),
  draining: flag,
  slots: whole,
  running: described('Tasks that are assigned to it.', whole),
  executors: listOf(text),
  capabilities: { type: 'object', additionalProperties: anything },
  address: orNull(text),
  version: text,
  quarantinedUntil: orNull(moment),
  registeredAt: moment,
  seenAt: moment,
  figures: described(
    'Of its process and its disk, as of its last heartbeat, if the responding node leads.',
    orNull(
      record('Bytes.', {
        residentBytes: whole,
        shuffleBytes: described('Outputs of queries that it keeps for others.', whole),
        diskFreeBytes: described('Of the disk that they lie on; 0 if not known.', whole),
        fetchBytesPerSecond: described(
          'What it takes in of the outputs of other workers; 0 if it is not fetching.',
          whole,
        ),
      }),
    ),
  ),
};

const SCHEDULE_EXAMPLE = {
  id: 'nightly',
  spec: {
    timing: { cron: '0 2 * * *', zone: 'Europe/Berlin' },
    misfire: 'once',
    overlap: 'skip',
    document: { name: 'nightly', tasks: [{ id: 'a', executor: 'echo' }] },
  },
  state: 'active',
  paused: false,
  nextAt: '2026-11-16T01:00:00.000Z',
  lastAt: '2026-11-15T01:00:00.000Z',
  lastJob: 'nightly@1794704400000.7',
  upcoming: ['2026-11-16T01:00:00.000Z', '2026-11-17T01:00:00.000Z'],
};

const scheduleFields: Readonly<Record<string, Schema>> = {
  id: text,
  spec: described('Timing, policies and job document.', anything),
  state: described('Ended: there is no further occurrence.', oneOf(['active', 'paused', 'ended'])),
  paused: flag,
  nextAt: orNull(moment),
  lastAt: orNull(moment),
  lastJob: orNull(text),
  upcoming: described('The next occurrences; empty while it is paused.', listOf(moment)),
};

const OPERATOR_EXAMPLE = {
  name: 'tokenize',
  kind: 'operator',
  input: null,
  output: [{ name: 'token', type: 'VARCHAR' }],
  distribution: 'any',
  parameters: [{ name: 'column', type: 'string', isRequired: true }],
  isDeterministic: true,
};

const columns = listOf(record('A column.', { name: text, type: described('An SQL type.', text) }));
const operatorFields: Readonly<Record<string, Schema>> = {
  name: text,
  kind: oneOf(['operator', 'function']),
  input: described('Columns that the input must have; null for any.', orNull(columns)),
  output: columns,
  distribution: described('`any`, `single`, or `{hash: [column]}`.', anything),
  parameters: described('Null if any parameter is accepted.', anything),
  isDeterministic: flag,
};

const QUEUE_EXAMPLE = {
  executor: 'charge',
  key: null,
  paused: { since: '2026-11-15T02:00:00.000Z', reason: 'the bank is down' },
};

const queueFields: Readonly<Record<string, Schema>> = {
  executor: described('Its tasks have this executor; null for the queue of a key.', orNull(text)),
  key: described('Its tasks have a limit of this key; null for that of an executor.', orNull(text)),
  paused: orNull(record('Since when, and why.', { since: moment, reason: orNull(text) })),
};

const asOf = ref('AsOf');
const leaderFields: Readonly<Record<string, Schema>> = {
  nodeId: text,
  url: orNull(text),
  grpc: orNull(text),
  epoch: whole,
};

export type ClusterSchemaName =
  | 'Node'
  | 'NodeList'
  | 'LeaseList'
  | 'QueueList'
  | 'Queue'
  | 'OperatorList'
  | 'LeaderAddress'
  | 'Leader'
  | 'Schedule'
  | 'ScheduleList'
  | 'Backfill'
  | 'Event'
  | 'LogLine'
  | 'Health'
  | 'Me'
  | 'Problem';

export const clusterSchemas: Readonly<Record<ClusterSchemaName, Schema>> = {
  Node: record(
    'A node.',
    { ...nodeFields, asOf },
    { example: { ...NODE_EXAMPLE, asOf: ASKED_AT } },
  ),
  NodeList: record(
    'All nodes.',
    { nodes: listOf(record('A node.', nodeFields)), asOf },
    { example: { nodes: [NODE_EXAMPLE], asOf: ASKED_AT } },
  ),
  LeaseList: record(
    'What the nodes work on.',
    {
      leases: listOf(
        record('A task that a node holds.', {
          node: text,
          job: text,
          jobName: text,
          task: text,
          executor: text,
          since: described('When it was assigned.', moment),
          isStarted: described('False while it waits on the node for a free slot.', flag),
        }),
      ),
      asOf,
    },
    {
      example: {
        leases: [
          {
            node: 'w-1',
            job: '0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
            jobName: 'nightly',
            task: 'fetch',
            executor: 'http',
            since: '2026-11-15T02:00:00.000Z',
            isStarted: true,
          },
        ],
        asOf: ASKED_AT,
      },
    },
  ),
  QueueList: record(
    'Executors and keys of limits that tasks in memory have, and all that are paused.',
    { queues: listOf(record('A queue.', { ...queueFields, ready: whole, running: whole })) },
    { example: { queues: [{ ...QUEUE_EXAMPLE, ready: 12, running: 3 }] } },
  ),
  Queue: record(
    'A queue that was paused or resumed.',
    { ...queueFields, changed: described('False if it was so already.', flag) },
    { example: { ...QUEUE_EXAMPLE, changed: true } },
  ),
  OperatorList: record(
    'Custom operators and functions.',
    { operators: listOf(record('A custom operator or function.', operatorFields)) },
    { example: { operators: [OPERATOR_EXAMPLE] } },
  ),
  LeaderAddress: record('The addresses of a leader.', leaderFields, { example: LEADER_EXAMPLE }),
  Leader: record(
    'The leader, as far as this node knows.',
    { ...leaderFields, asOf },
    { example: { ...LEADER_EXAMPLE, asOf: ASKED_AT } },
  ),
  Schedule: record(
    'A schedule.',
    { ...scheduleFields, asOf },
    { example: { ...SCHEDULE_EXAMPLE, asOf: ASKED_AT } },
  ),
  ScheduleList: record(
    'All schedules.',
    { schedules: listOf(record('A schedule.', scheduleFields)), asOf },
    { example: { schedules: [SCHEDULE_EXAMPLE], asOf: ASKED_AT } },
  ),
  Backfill: record(
    'The jobs of a backfill.',
    {
      id: described('Of the schedule.', text),
      started: described('New jobs.', whole),
      jobs: listOf(
        record('The job of one time.', {
          at: moment,
          id: text,
          isNew: described('False if it was there before.', flag),
        }),
      ),
    },
    {
      example: {
        id: 'nightly',
        started: 1,
        jobs: [{ at: '2026-11-14T01:00:00.000Z', id: 'nightly@1794618000000.0', isNew: true }],
      },
    },
  ),
  LogLine: record('What a task has printed.', {
    seq: described('Grows within the job.', whole),
    at: moment,
    task: text,
    attempt: whole,
    level: oneOf(['debug', 'info', 'warn', 'error']),
    message: text,
    fields: described('What was logged beside the message; null if nothing was.', anything),
  }),
  Event: record(
    'The `data` of one event of the stream.',
    {
      seq: described('Without gaps; also the `id` of the event.', whole),
      at: moment,
      kind: described('Also the `event` of the stream.', oneOf(LOG_KINDS)),
      job: orNull(text),
      task: orNull(text),
      node: orNull(text),
      run: orNull(whole),
      attempt: orNull(whole),
      fence: orNull(whole),
      detail: anything,
    },
    {
      example: {
        seq: 42,
        at: '2026-11-15T02:00:01.000Z',
        kind: 'completed',
        job: '0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
        task: 'fetch',
        node: 'w-1',
        run: 1,
        attempt: 1,
        fence: 1,
        detail: null,
      },
    },
  ),
  Me: record(
    'The caller, as this server knows it, and the node that answers.',
    {
      name: text,
      role: oneOf(ROLES),
      roles: described('Every role that the caller may act in.', listOf(oneOf(ROLES))),
      node: record('The node that answers.', {
        id: text,
        version: text,
        leads: described('Whether it takes changes itself.', flag),
        storeAnswers: described('False while it cannot reach its database.', flag),
        hasQueries: described('Whether queries can be read here.', flag),
        traceUrl: described(
          'Where traces are shown, with `{trace}` for the id; null if that is not set.',
          orNull(text),
        ),
      }),
    },
    {
      example: {
        name: 'alice',
        role: 'submit',
        roles: ['submit', 'read'],
        node: {
          id: 'n-1',
          version: '0.1.0',
          leads: true,
          storeAnswers: true,
          hasQueries: true,
          traceUrl: 'https://jaeger.example/trace/{trace}',
        },
      },
    },
  ),
  Health: record('It is there.', { status: text }, { example: { status: 'ok' } }),
  Problem: record(
    'An error (RFC 9457). `code` is stable; the text is for people and may change.',
    {
      code: text,
      title: text,
      status: { type: 'integer', minimum: 400, maximum: 599 },
      detail: text,
      path: described('Where in the body, or `?name` of a parameter.', text),
      todo: described('What to do about it.', text),
      leader: described('For `not_leader`: the current leader.', orNull(ref('LeaderAddress'))),
    },
    {
      optional: ['path', 'todo', 'leader'],
      example: {
        code: 'not_leader',
        title: 'Not the leader',
        status: 503,
        detail: 'Node n-2 is not the leader. The leader is n-1.',
        todo: 'Ask http://10.0.0.1:7070.',
        leader: LEADER_EXAMPLE,
      },
    },
  ),
};
