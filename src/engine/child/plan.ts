/** Plans a statement without running it, in an instance that sees the files of its tables and nothing else. */
import type { DuckDBInstance } from '@duckdb/node-api';
import type { Fault, InstanceSettings, PlanAnswer, PlanCall } from '../messages.ts';
import { quotedName, quotedText } from '../sql/text.ts';
import { faultOfAnswer } from './fault.ts';
import { openPlanningInstance } from './instance.ts';
import { type Connection, Failed, Work } from './work.ts';

/** An instance takes 20 to 35 ms to open, so those of the latest sets of tables are kept. */
const KEPT_MAX = 16;

interface Kept {
  readonly opened: Promise<DuckDBInstance>;
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
      const instance = await kept.opened;
      work.checkAborted();
      return await planned(await work.connect(instance, 'plan'), call, this.#duckdb);
    } finally {
      kept.users -= 1;
      this.#trim();
    }
  }

  #take(call: PlanCall): Kept {
    const before = this.#kept.get(call.key);
    const kept = before ?? { opened: this.#open(call), users: 0 };
    kept.users += 1;
    this.#kept.delete(call.key);
    this.#kept.set(call.key, kept);
    return kept;
  }

  /** Not a part of one call: others wait for it too. It reads no more than footers. */
  async #open({ key, tables, files }: PlanCall): Promise<DuckDBInstance> {
    const work = new Work();
    try {
      const instance = await openPlanningInstance(this.#settings, files);
      const connection = await work.connect(instance, 'describe');
      for (const { name, select } of tables)
        await connection.run(`CREATE VIEW ${quotedName(name)} AS ${select}`);
      return instance;
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
      void opened.then((instance) => instance.closeSync()).catch(() => {});
    }
  }
}

async function planned(
  connection: Connection,
  { sql, timeZone }: PlanCall,
  duckdb: string,
): Promise<PlanAnswer> {
  checkCalled(sql, NOT_IN_QUERIES);
  await connection.run(`SET TimeZone = ${quotedText(timeZone)}`);
  const now = await checkSelect(connection, sql);
  const columns = await columnsOf(connection, sql);
  const { plan, whyNot } = await serialised(connection, sql);
  if (plan === null) checkCalled(sql, HIDING);
  else checkPlanned(plan);
  const estimates = plan === null ? null : await estimated(connection, sql);
  const why = whyNot !== null && SEVERAL.test(whyNot) ? 'its columns depend on the data' : whyNot;
  return { columns, plan, whyNot: why, estimates, session: { timeZone, now }, duckdb };
}

/** A PIVOT whose columns depend on the data is several statements to DuckDB. */
const SEVERAL = /type MULTI/;

/** Answers the time of this transaction, in UTC. */
async function checkSelect(connection: Connection, sql: string): Promise<string> {
  const [[text, utc] = []] = await connection.texts(
    `SELECT CASE WHEN j->>'$.error' = 'true' THEN j::VARCHAR
       ELSE json_array_length(j, '$.statements')::VARCHAR END,
       CAST(now() AT TIME ZONE 'UTC' AS VARCHAR)
     FROM (SELECT json_serialize_sql(${quotedText(sql)}) AS j)`,
  );
  const now = `${utc}+00`;
  if (text === '1') return now;
  if (text === '0') throw new Failed(refused('There is no statement.'));
  if (text === null || text === undefined || !text.startsWith('{'))
    throw new Failed(refused('There is more than one statement.'));
  const answer = JSON.parse(text) as Record<string, unknown>;
  if (answer['error_type'] !== 'not implemented') throw new Failed(faultOfAnswer(answer, 'plan'));
  const { whyNot } = await serialised(connection, sql);
  if (whyNot === null || !SEVERAL.test(whyNot))
    throw new Failed(refused('It is not a SELECT statement.'));
  return now;
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

async function serialised(
  connection: Connection,
  sql: string,
): Promise<Pick<PlanAnswer, 'plan' | 'whyNot'>> {
  try {
    const [[plan] = []] = await connection.texts(
      `SELECT json_serialize_plan(${quotedText(sql)}, optimize := true)::VARCHAR`,
    );
    const read = parsed(plan ?? '');
    if (read === null)
      return { plan: null, whyNot: 'it has a constant that DuckDB cannot write into a plan' };
    if (read['error'] !== true && plan !== undefined) return { plan, whyNot: null };
    return { plan: null, whyNot: unwritten(String(read['error_message'])) };
  } catch (error) {
    if (!(error instanceof Failed) || error.fault.code === 'interrupted') throw error;
    return { plan: null, whyNot: unwritten(error.fault.what) };
  }
}

/** Completes a sentence of ours; what follows the first line of DuckDB's own is about the text of the query. */
function unwritten(message: string): string {
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
