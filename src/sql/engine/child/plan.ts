/** Plans a statement without running it, in an instance that is locked to files that it may name as tables. */
import { quotedText, smallQuery } from '../../plan/index.ts';
import type {
  DistributeAnswer,
  DistributeCall,
  Fault,
  OperatorsCall,
  PlanAnswer,
  PlanCall,
} from '../messages.ts';
import { rawName } from '../sql/custom-script.ts';
import { bytesRead } from '../sql/bytes-read.ts';
import { callsIn, type FoundCall } from '../sql/operator-calls.ts';
import { namedColumns, plannedColumns } from '../sql/plan-columns.ts';
import { withPivotLists } from '../sql/pivot.ts';
import { sqlTime } from '../sql/sql-time.ts';
import { statementFault } from '../sql/statement-tree.ts';
import { readsClock } from '../sql/volatility.ts';
import { answerOf, bound, distributed } from './distribute.ts';
import { faultOfAnswer } from './fault.ts';
import { registerStubs } from './functions.ts';
import type { Instances, PooledInstance } from './instances.ts';
import { contentsOf, exactly, unlessGone } from './sandbox.ts';
import type { Sessions } from './sessions.ts';
import { createViews, meaningsOf } from './views.ts';
import { type Connection, Failed, type SessionConnection, type Work } from './work.ts';

/** The tables and the time zone to plan with. */
type Place = Omit<PlanCall, 'name' | 'sql' | 'small' | 'readsData'>;

export class Planner {
  readonly #instances: Instances;
  readonly #duckdb: string;

  constructor(instances: Instances, duckdb: string) {
    this.#instances = instances;
    this.#duckdb = duckdb;
  }

  async plan(work: Work, call: PlanCall): Promise<PlanAnswer> {
    const { sessions, release } = await this.#take(call, call.readsData);
    try {
      work.checkAborted();
      return await planned(() => zoned(work, sessions, call), call, this.#duckdb);
    } finally {
      release();
    }
  }

  /** Parses only: nothing is bound before the calls are cut out of the statement. */
  async operators(work: Work, { sql, operators }: OperatorsCall): Promise<readonly FoundCall[]> {
    const { sessions, release } = await this.#take(NO_TABLES);
    try {
      const connection = await zoned(work, sessions, NO_TABLES);
      const answer = await treeOf(connection, sql);
      connection.giveBack();
      if (answer['error'] === true) {
        if (answer['error_type'] === 'not implemented') return [];
        throw new Failed(faultOfAnswer(answer, 'plan'));
      }
      const found = callsIn(answer['statements'], new Set(operators));
      if ('code' in found) throw new Failed(found);
      return found;
    } finally {
      release();
    }
  }

  async distribute(work: Work, call: DistributeCall): Promise<DistributeAnswer> {
    const { sessions, release } = await this.#take(call, call.readsData);
    try {
      work.checkAborted();
      const connect = (): Promise<SessionConnection> => zoned(work, sessions, call);
      const { smallBytes, ...answer } = await planned(connect, call, this.#duckdb);
      work.checkAborted();
      const { sql, settings, pinned: tables } = call;
      const input = { ...answer, sql, settings, tables };
      if (smallBytes !== undefined)
        return answerOf(smallQuery({ ...input, logical: null }, smallBytes), [], true);
      const made = await distributed(input, (plan) => bound(connect, plan, tables));
      // A missing plan or estimate may have a transient cause.
      const isWhole = answer.plan !== null && answer.estimates !== null;
      return { ...made, isSound: made.isSound && isWhole };
    } finally {
      release();
    }
  }

  /** Planning runs no part of a statement, but in a thread that waits for parts wakes up with each. */
  async #take(
    { files, tables, functions, scope }: Place,
    readsData: boolean = false,
  ): Promise<PooledInstance> {
    const pooled = await this.#instances.take({
      kind: `${readsData ? 'read' : 'plan'} ${JSON.stringify(functions)} ${scope ?? exactly(files, tables)}`,
      files: files.map(({ path }) => path),
      meanings: new Map([...contentsOf(files), ...meaningsOf(tables)]),
      hasOneThread: !readsData,
      isPinned: true,
      prepare: (instance) => registerStubs(instance, functions),
    });
    try {
      await createViews(pooled, tables, 'describe');
      return pooled;
    } catch (thrown) {
      pooled.release();
      const paths = files.map(({ path }) => path);
      const error = unlessGone(thrown, paths, 'table_missing');
      throw error instanceof Failed ? new Failed(withoutPosition(error.fault)) : error;
    }
  }
}

const NO_TABLES: Place = { timeZone: 'UTC', files: [], tables: [], functions: [] };

async function zoned(
  work: Work,
  sessions: Sessions,
  { timeZone }: Place,
): Promise<SessionConnection> {
  const connection = await work.take(sessions, 'plan');
  await connection.begin(timeZone);
  return connection;
}

/**
 * Nothing is bound before the statement is known to be a query with allowed functions only, because some functions
 * act when they are bound. Then everything is asked of DuckDB concurrently.
 */
async function planned(
  connect: () => Promise<SessionConnection>,
  { sql, timeZone, tables, functions, small }: Omit<PlanCall, 'name'>,
  duckdb: string,
): Promise<PlanAnswer> {
  const used: SessionConnection[] = [];
  const another = async (): Promise<SessionConnection> => {
    const connection = await connect();
    used.push(connection);
    return connection;
  };
  const first = await another();
  // Where DuckDB writes no plan with a time of its own.
  const now = sqlTime();
  const names = {
    tables: tables.map(({ name }) => name),
    functions: functions.flatMap(({ name }) => [name, rawName(name)]),
  };
  const checked = await checkStatement(first, sql, names);
  const smallBytes =
    small === null || checked.tree === null ? null : bytesRead(checked.tree, small.tables);
  if (small !== null && smallBytes !== null && smallBytes <= small.upToBytes) {
    const columns = await columnsOf(first, sql);
    first.giveBack();
    const none = { plan: null, whyNot: null, estimates: null };
    return { columns, smallBytes, ...none, session: { timeZone, now }, duckdb };
  }
  const named = namedColumns(checked.tree);
  const [described, written, estimates] = await together([
    named === null ? columnsOf(first, sql) : null,
    named === null ? another().then((own) => serialised(own, sql)) : serialised(first, sql),
    checked.isSeveral ? null : another().then((own) => estimated(own, sql)),
  ]);
  const { plan, read, whyNot } = written;
  const known = named === null || read === null ? described : plannedColumns(read, named);
  // Also for the words of an error in the statement.
  const columns = known ?? (await columnsOf(first, sql));
  // Several statements leave types behind on the connection.
  if (!checked.isSeveral) for (const each of used) each.giveBack();
  return {
    columns,
    plan,
    whyNot: whyNot !== null && SEVERAL.test(whyNot) ? 'its columns depend on the data' : whyNot,
    estimates: plan === null ? null : estimates,
    session: { timeZone, now: written.now ?? now },
    duckdb,
  };
}

/** Waits for all, so that no connection is closed under its statement. Fails with the first failure in order. */
async function together<A, B, C>(
  works: readonly [Promise<A> | A, Promise<B> | B, Promise<C> | C],
): Promise<[A, B, C]> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

/** A PIVOT whose columns depend on the data is several statements to DuckDB. */
const SEVERAL = /type MULTI/;

/** The time of the statement, in UTC. */
const NOW = `CAST(now() AT TIME ZONE 'UTC' AS VARCHAR) || '+00'`;

interface KnownNames {
  readonly tables: readonly string[];
  readonly functions: readonly string[];
}

interface Checked {
  /** One statement to its author, several to DuckDB. */
  readonly isSeveral: boolean;
  /** Null if it is several statements. */
  readonly tree: unknown;
}

async function checkStatement(
  connection: Connection,
  sql: string,
  names: KnownNames,
): Promise<Checked> {
  const answer = await treeOf(connection, sql);
  if (answer['error'] !== true) {
    checkTree(answer, names);
    return { isSeveral: false, tree: answer['statements'] };
  }
  if (answer['error_type'] !== 'not implemented') throw new Failed(faultOfAnswer(answer, 'plan'));
  const listed = withPivotLists(sql);
  const written = await treeOf(connection, listed);
  if (listed === sql || written['error'] === true) throw new Failed(notSelect(listed !== sql));
  try {
    checkTree(written, names);
  } catch (error) {
    throw error instanceof Failed ? new Failed(withoutPosition(error.fault)) : error;
  }
  const { whyNot } = await serialised(connection, sql);
  if (whyNot === null || !SEVERAL.test(whyNot)) throw new Failed(notSelect(false));
  return { isSeveral: true, tree: null };
}

async function treeOf(
  connection: Connection,
  sql: string,
): Promise<Readonly<Record<string, unknown>>> {
  const [[text] = []] = await connection.texts(
    `SELECT json_serialize_sql(${quotedText(sql)}, skip_null := true, skip_empty := true)::VARCHAR`,
  );
  const answer = parsed(text ?? '');
  if (answer === null) throw new Failed(refused('DuckDB cannot serialise it.'));
  return answer;
}

function checkTree(answer: Readonly<Record<string, unknown>>, names: KnownNames): void {
  const statements = answer['statements'];
  if (!Array.isArray(statements) || statements.length === 0)
    throw new Failed(refused('There is no statement.'));
  if (statements.length > 1) throw new Failed(refused('There is more than one statement.'));
  const fault = statementFault(statements[0], names.tables, names.functions);
  if (fault !== null) throw new Failed(fault);
}

function notSelect(isPivot: boolean): Fault {
  if (!isPivot) return refused('It is not a SELECT statement.');
  const todo = 'List the values of the PIVOT: ON column IN (...).';
  return { ...refused('The columns of its PIVOT cannot be determined.'), todo };
}

function refused(why: string): Fault {
  return { code: 'bad_query', what: 'A query must be a single SELECT statement.', why };
}

/** In parentheses, as a query in a single fragment is run too; it may end in a comment. */
const BEFORE = 'DESCRIBE SELECT * FROM (\n';

async function columnsOf(connection: Connection, sql: string): Promise<PlanAnswer['columns']> {
  const inBrackets = await describe(connection, BEFORE, sql, '\n) AS q');
  // In parentheses a second column `a` becomes `a_1`. Some statements can only be described in parentheses.
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

/** It would refer to a text that the user has not seen. */
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
  /** The plan, parsed. */
  readonly read: Readonly<Record<string, unknown>> | null;
  /** The value of `now()` in the plan, where DuckDB writes it as a constant; null if it is not in there. */
  readonly now: string | null;
}

async function serialised(connection: Connection, sql: string): Promise<Written> {
  const now = readsClock(sql) ? NOW : 'NULL';
  try {
    const [[plan, at = null] = []] = await connection.texts(
      `SELECT json_serialize_plan(${quotedText(sql)}, optimize := true)::VARCHAR, ${now}`,
    );
    const read = parsed(plan ?? '');
    if (read === null) return unwritten('it has a constant that DuckDB cannot write into a plan');
    if (read['error'] !== true && plan !== undefined) return { plan, read, whyNot: null, now: at };
    return unwritten(reasonOf(String(read['error_message'])));
  } catch (error) {
    if (!(error instanceof Failed) || error.fault.code === 'interrupted') throw error;
    return unwritten(reasonOf(error.fault.what));
  }
}

function unwritten(whyNot: string): Written {
  return { plan: null, read: null, whyNot, now: null };
}

/** The end of a sentence. After its first line DuckDB's message refers to the text of the query. */
function reasonOf(message: string): string {
  if (message.startsWith('CSVReader'))
    return 'it reads CSV that has quotes, or another form than plain lines below a header';
  if (message.startsWith('JSONScan'))
    return 'it reads JSON that is not one object per line, or is compressed';
  return `DuckDB cannot write its plan: ${message.split('\n', 1)[0]}`;
}

/** Infinities, NaN and bit strings are written as something that is not JSON. */
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
