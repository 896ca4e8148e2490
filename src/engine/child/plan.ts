/** Plans a statement without running it, in an instance that sees the files of its tables and nothing else. */
import type { DuckDBInstance } from '@duckdb/node-api';
import type {
  BindAnswer,
  BindCall,
  Fault,
  InstanceSettings,
  PlanAnswer,
  PlanCall,
} from '../messages.ts';
import { quotedName, quotedText } from '../sql/text.ts';
import { boundTypes } from './bind.ts';
import { faultOfAnswer } from './fault.ts';
import { openPlanningInstance } from './instance.ts';
import { Sessions } from './sessions.ts';
import { type Connection, Failed, type SessionConnection, Work } from './work.ts';

/** An instance takes 20 to 35 ms to open, so those of the latest sets of tables are kept. */
const KEPT_MAX = 16;

/** Over which tables, and in which zone. */
type Place = Omit<PlanCall, 'name' | 'sql'>;

interface Opened {
  readonly instance: DuckDBInstance;
  readonly sessions: Sessions;
}

interface Kept {
  readonly opened: Promise<Opened>;
  users: number;
}

export class Planner {
  readonly #settings: InstanceSettings;
  readonly #duckdb: string;
  /** The one that was used last stands last. */
  readonly #kept = new Map<string, Kept>();

  constructor(settings: InstanceSettings, duckdb: string) {
    this.#settings = settings;
    this.#duckdb = duckdb;
  }

  async plan(work: Work, call: PlanCall): Promise<PlanAnswer> {
    const kept = this.#take(call);
    try {
      const { sessions } = await kept.opened;
      work.checkAborted();
      return await planned(() => zoned(work, sessions, call), call, this.#duckdb);
    } finally {
      kept.users -= 1;
      this.#trim();
    }
  }

  /** In the instance that the statement was planned in, which is open already. */
  async bind(work: Work, call: BindCall): Promise<BindAnswer> {
    const kept = this.#take(call);
    try {
      const { sessions } = await kept.opened;
      work.checkAborted();
      const connection = await zoned(work, sessions, call);
      const bound = await boundTypes(connection, call.statement);
      connection.giveBack();
      return bound;
    } finally {
      kept.users -= 1;
      this.#trim();
    }
  }

  #take(call: Place): Kept {
    const before = this.#kept.get(call.key);
    const kept = before ?? { opened: this.#open(call), users: 0 };
    kept.users += 1;
    this.#kept.delete(call.key);
    this.#kept.set(call.key, kept);
    return kept;
  }

  /** Not a part of one call: others wait for it too. It reads no more than footers. */
  async #open({ key, tables, files }: Place): Promise<Opened> {
    const work = new Work();
    try {
      const instance = await openPlanningInstance(this.#settings, files);
      const connection = await work.connect(instance, 'describe');
      for (const { name, select } of tables)
        await connection.run(`CREATE VIEW ${quotedName(name)} AS ${select}`);
      return { instance, sessions: new Sessions(instance) };
    } catch (error) {
      this.#kept.delete(key);
      throw error instanceof Failed ? new Failed(withoutPosition(error.fault)) : error;
    } finally {
      work.end();
    }
  }

  #trim(): void {
    for (const [key, { opened, users }] of this.#kept) {
      if (this.#kept.size <= KEPT_MAX) return;
      if (users > 0) continue;
      this.#kept.delete(key);
      void opened.then(close).catch(() => {});
    }
  }
}

function close({ instance, sessions }: Opened): void {
  sessions.close();
  instance.closeSync();
}

async function zoned(
  work: Work,
  sessions: Sessions,
  { timeZone }: Place,
): Promise<SessionConnection> {
  const connection = await work.take(sessions, 'plan');
  await connection.begin(timeZone);
  return connection;
}

/** Nothing is bound before the statement is known to be a query. Then DuckDB is asked for all at once. */
async function planned(
  connect: () => Promise<SessionConnection>,
  { sql, timeZone }: PlanCall,
  duckdb: string,
): Promise<PlanAnswer> {
  checkCalled(sql, NOT_IN_QUERIES);
  const first = await connect();
  const [checked, second, third] = await together([checkSelect(first, sql), connect(), connect()]);
  const [columns, written, estimates] = await together([
    columnsOf(first, sql),
    serialised(second, sql),
    checked.isSeveral ? Promise.resolve(null) : estimated(third, sql),
  ]);
  const { plan, whyNot } = written;
  if (plan === null) checkCalled(sql, HIDING);
  else checkPlanned(plan);
  // Several statements leave types behind.
  if (!checked.isSeveral) for (const each of [first, second, third]) each.giveBack();
  return {
    columns,
    plan,
    whyNot: whyNot !== null && SEVERAL.test(whyNot) ? 'its columns depend on the data' : whyNot,
    estimates: plan === null ? null : estimates,
    session: { timeZone, now: written.now ?? checked.now },
    duckdb,
  };
}

/** Each to its end, so that no connection is closed under its statement. Fails as the first in order that does. */
async function together<A, B, C>(
  works: readonly [Promise<A>, Promise<B>, Promise<C>],
): Promise<[A, B, C]> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

/** A PIVOT whose columns depend on the data is several statements to DuckDB. */
const SEVERAL = /type MULTI/;

/** The time of the statement that asks for it, in UTC. */
const NOW = `CAST(now() AT TIME ZONE 'UTC' AS VARCHAR) || '+00'`;

interface Checked {
  readonly now: string;
  /** One to its user, several to DuckDB. */
  readonly isSeveral: boolean;
}

async function checkSelect(connection: Connection, sql: string): Promise<Checked> {
  const [[text, time] = []] = await connection.texts(
    `SELECT CASE WHEN j->>'$.error' = 'true' THEN j::VARCHAR
       ELSE json_array_length(j, '$.statements')::VARCHAR END, ${NOW}
     FROM (SELECT json_serialize_sql(${quotedText(sql)}) AS j)`,
  );
  const now = String(time);
  if (text === '1') return { now, isSeveral: false };
  if (text === '0') throw new Failed(refused('There is no statement.'));
  if (text === null || text === undefined || !text.startsWith('{'))
    throw new Failed(refused('There is more than one statement.'));
  const answer = JSON.parse(text) as Record<string, unknown>;
  if (answer['error_type'] !== 'not implemented') throw new Failed(faultOfAnswer(answer, 'plan'));
  const { whyNot } = await serialised(connection, sql);
  if (whyNot === null || !SEVERAL.test(whyNot))
    throw new Failed(refused('It is not a SELECT statement.'));
  return { now, isSeveral: true };
}

function refused(why: string): Fault {
  return { code: 'bad_query', what: 'A query is one SELECT statement.', why };
}

/** Table functions that look at files, write them or change settings only when they run, so that planning does not
 * show it. */
const NOT_IN_QUERIES = [
  'sniff_csv',
  'enable_logging',
  'disable_logging',
  'truncate_duckdb_logs',
  'enable_profiling',
  'disable_profiling',
  'checkpoint',
  'force_checkpoint',
  'enable_peg_parser',
  'disable_peg_parser',
];
/** These run SQL that is hidden in a text; a plan shows it all the same, where there is one. */
const HIDING = ['query', 'json_execute_serialized_sql'];

/** Before anything is bound: some of them act already then. */
function checkCalled(sql: string, names: readonly string[]): void {
  refuseFunction(new RegExp(`(?<!\\w)(${names.join('|')})"?\\s*\\(`, 'i').exec(sql));
}

function checkPlanned(plan: string): void {
  refuseFunction(new RegExp(`"name":"(${NOT_IN_QUERIES.join('|')})"`).exec(plan));
}

function refuseFunction(found: RegExpExecArray | null): void {
  const name = found?.[1];
  if (name === undefined) return;
  throw new Failed({ code: 'bad_query', what: `The function ${name} cannot be used in a query.` });
}

/** The statement in brackets, as a whole query is run too; a comment may stand at its end. */
const BEFORE = 'DESCRIBE SELECT * FROM (\n';

async function columnsOf(connection: Connection, sql: string): Promise<PlanAnswer['columns']> {
  const inBrackets = await describe(connection, BEFORE, sql, '\n) AS q');
  // In brackets a second `a` becomes `a_1`. Some statements cannot be described without.
  if (!inBrackets.some(({ name }) => /_\d+$/.test(name))) return inBrackets;
  const plain = await describe(connection, 'DESCRIBE ', sql, '').catch(() => inBrackets);
  return plain.length === inBrackets.length ? plain : inBrackets;
}

async function describe(
  connection: Connection,
  before: string,
  sql: string,
  after: string,
): Promise<PlanAnswer['columns']> {
  try {
    const rows = await connection.texts(before + sql + after);
    return rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
  } catch (error) {
    throw error instanceof Failed ? new Failed(moved(error.fault, before.length)) : error;
  }
}

/** It would be one in a text that nobody has seen. */
function withoutPosition(fault: Fault): Fault {
  const { position: _position, ...rest } = fault;
  return rest;
}

function moved(fault: Fault, by: number): Fault {
  const { position } = fault;
  if (position === undefined) return fault;
  return { ...fault, position: { ...position, at: Math.max(0, position.at - by) } };
}

interface Written extends Pick<PlanAnswer, 'plan' | 'whyNot'> {
  /** What `now()` was for the plan: DuckDB writes it there as a constant. */
  readonly now: string | null;
}

async function serialised(connection: Connection, sql: string): Promise<Written> {
  try {
    const [[plan, now = null] = []] = await connection.texts(
      `SELECT json_serialize_plan(${quotedText(sql)}, optimize := true)::VARCHAR, ${NOW}`,
    );
    const read = parsed(plan ?? '');
    if (read === null) return unwritten('it has a constant that DuckDB cannot write into a plan');
    if (read['error'] !== true && plan !== undefined) return { plan, whyNot: null, now };
    return unwritten(reasonOf(String(read['error_message'])));
  } catch (error) {
    if (!(error instanceof Failed) || error.fault.code === 'interrupted') throw error;
    return unwritten(reasonOf(error.fault.what));
  }
}

function unwritten(whyNot: string): Written {
  return { plan: null, whyNot, now: null };
}

/** Completes a sentence of ours; what follows the first line of DuckDB's own is about the text of the query. */
function reasonOf(message: string): string {
  if (message.startsWith('CSVReader')) return 'it reads CSV, and only Parquet is divided';
  if (message.startsWith('JSONScan')) return 'it reads JSON, and only Parquet is divided';
  return `DuckDB cannot write its plan: ${message.split('\n', 1)[0]}`;
}

/** Infinities, NaN and bit strings come out as something that is no JSON. */
function parsed(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}

async function estimated(connection: Connection, sql: string): Promise<string | null> {
  try {
    const [[, text] = []] = await connection.texts(`EXPLAIN (FORMAT json) ${sql}`);
    return text ?? null;
  } catch (error) {
    if (error instanceof Failed && error.fault.code === 'interrupted') throw error;
    return null;
  }
}
