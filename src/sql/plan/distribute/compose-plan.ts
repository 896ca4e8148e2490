/**
 * Puts the plan of a query with custom operators together. The query is cut at each operator: what it reads is a query
 * of its own, and what is around it reads a placeholder table. The parts are planned one by one, innermost first, and
 * joined here: a placeholder becomes an exchange with the stage of its operator.
 */
import { quotedName } from '../logical/quote.ts';
import type { OperatorDeclaration } from '../../../scheduler/core/index.ts';
import {
  CUSTOM_RELATION,
  type ExchangeInput,
  type Fragment,
  type FragmentColumn,
  type QueryPlan,
  type Scan,
  type Stage,
  type StageOutput,
  versionOf,
} from '../physical/plan.ts';
import { checkPlan } from './check-plan.ts';

/** A call of an operator over a part of the query that is already planned. */
export interface OperatorStep {
  /** The name of its placeholder in the parts that read it. */
  readonly placeholder: string;
  /** With types as DuckDB writes them. */
  readonly declaration: OperatorDeclaration;
  readonly params: Readonly<Record<string, unknown>>;
  /** The columns of its input as the operator sees them: SQL over `c0`, `c1`, ..., and a name. */
  readonly input: readonly { readonly sql: string; readonly name: string }[];
  /** For `{ hash }`: the columns of its input by which it is partitioned. */
  readonly keys: readonly number[];
  readonly plan: QueryPlan;
}

/** What later parts must know of an operator's output. */
export interface OperatorOutput {
  readonly rows: number;
  readonly bytes: number;
  readonly isPartitioned: boolean;
}

interface Source {
  readonly stage: number;
  readonly tasks: number;
  readonly columns: readonly FragmentColumn[];
}

/** If nothing is known of the input. */
const ROWS = 10_000;
const ROW_BYTES = 64;

export class PlanComposer {
  readonly #stages: Stage[] = [];
  readonly #sources = new Map<string, Source>();
  readonly #roots = new Set<string>();
  #partitions = 1;

  /** Adds an operator; the part that it reads may only read operators that were added before. */
  add(step: OperatorStep): OperatorOutput {
    this.#append(step.plan);
    const last = this.#stages.pop() as Stage;
    const stage = this.#operatorStage(step, last);
    this.#stages.push(stage);
    const { columns } = stage.fragment;
    this.#sources.set(step.placeholder, { stage: stage.id, tasks: stage.tasks, columns });
    const rows = last.estimate.rows ?? ROWS;
    const bytes = last.estimate.bytes ?? rows * ROW_BYTES;
    return { rows, bytes, isPartitioned: stage.tasks > 1 };
  }

  /** The whole plan; `plan` is that of the outermost part, `sql` the query as the user wrote it. */
  finish(sql: string, plan: QueryPlan): QueryPlan {
    this.#append(plan);
    const { duckdb, columns, ordered, session } = plan;
    const stages = onlyRead(this.#stages);
    const made: QueryPlan = {
      ...{
        version: versionOf(stages),
        duckdb,
        sql,
        columns,
        ordered,
        partitions: this.#partitions,
      },
      single: null,
      stages,
      session,
      roots: [...this.#roots].toSorted(),
    };
    checkPlan(made);
    return made;
  }

  #append({ stages, partitions, roots }: QueryPlan): void {
    const first = this.#stages.length;
    for (const root of roots) this.#roots.add(root);
    this.#partitions = Math.max(this.#partitions, partitions);
    for (const stage of stages) {
      const inputs = stage.fragment.inputs.map((input) => ({
        ...input,
        stage: input.stage + first,
      }));
      const fragment = this.#connected({ ...stage.fragment, inputs }, stage.tasks);
      const operators = this.#described(renumbered(stage.operators, (id) => id + first));
      this.#stages.push({ ...stage, id: stage.id + first, fragment, operators });
    }
  }

  /** For people: a placeholder is the stage that it stands for. */
  #described(operators: readonly string[]): readonly string[] {
    return operators.map((line) => {
      const [, indent = '', table = ''] = /^( *)scan (\w+)/.exec(line) ?? [];
      const source = this.#sources.get(table);
      return source === undefined ? line : `${indent}rows of stage ${source.stage}`;
    });
  }

  /** The fragment with exchanges instead of placeholders. */
  #connected(fragment: Fragment, tasks: number): Fragment {
    const inputs = new Map(fragment.inputs.map((input) => [input.relation, input]));
    const views: string[] = [];
    for (const scan of fragment.scans) {
      const source = this.#sources.get(scan.table);
      if (source === undefined) continue;
      const mode = scan.rows === 'own' && tasks > 1 ? 'forward' : 'all';
      const relation = mode === 'forward' ? `${scan.table}_own` : scan.table;
      inputs.set(relation, exchange(relation, mode, source));
      views.push(`${scan.relation} AS NOT MATERIALIZED (${columnsOf(scan)} FROM ${relation})`);
    }
    for (const { name } of fragment.tables) {
      const source = this.#sources.get(name);
      if (source !== undefined) inputs.set(name, exchange(name, 'all', source));
    }
    const isSource = (name: string): boolean => this.#sources.has(name);
    const { sql } = fragment;
    return {
      ...fragment,
      sql: views.length === 0 ? sql : `WITH ${views.join(',\n')}\nSELECT * FROM (\n${sql}\n) AS q`,
      scans: fragment.scans.filter(({ table }) => !isSource(table)),
      tables: fragment.tables.filter(({ name }) => !isSource(name)),
      inputs: [...inputs.values()],
    };
  }

  /** Runs in the stage that makes its input where that has the right rows, otherwise behind an exchange. */
  #operatorStage(step: OperatorStep, last: Stage): Stage {
    const { declaration } = step;
    const { distribution } = declaration;
    if (distribution === 'any' || last.tasks === 1) {
      const { sql, columns } = last.fragment;
      const names = columns.map((_, at) => `c${at}`).join(', ');
      return operatorStage(step, last, `(\n${sql}\n) AS i(${names})`);
    }
    const isSingle = distribution === 'single';
    const output: StageOutput = isSingle
      ? { kind: 'whole' }
      : { kind: 'hash', by: step.keys.map((at) => `c${at}`), partitions: this.#partitions };
    this.#stages.push({ ...last, output });
    const relation = isSingle ? `stage${last.id}_all` : `stage${last.id}`;
    const { columns } = last.fragment;
    const input = { relation, stage: last.id, columns } as const;
    return operatorStage(
      step,
      {
        ...last,
        id: last.id + 1,
        title: '',
        tasks: isSingle ? 1 : last.tasks,
        fragment: {
          ...{ sql: '', columns, scans: [], tables: [] },
          inputs: [{ ...input, mode: isSingle ? 'all' : 'partition' }],
        },
        operators: [isSingle ? `all of stage ${last.id}` : `partition of stage ${last.id}`],
        nonDeterministic: null,
        requires: [],
      },
      relation,
    );
  }
}

function operatorStage(step: OperatorStep, below: Stage, from: string): Stage {
  const { declaration, params, input } = step;
  const { name, output, isDeterministic } = declaration;
  const columns = output.map(({ type }, at) => ({ name: `c${at}`, type }));
  const list = input.map((column) => `${column.sql} AS ${quotedName(column.name)}`).join(', ');
  const given = Object.keys(params).length === 0 ? '' : ` ${JSON.stringify(params)}`;
  const reason = isDeterministic ? null : `operator ${name} is not deterministic`;
  return {
    ...below,
    title: [below.title, name].filter((each) => each !== '').join(', '),
    fragment: {
      ...below.fragment,
      sql: `SELECT ${columns.map((column) => column.name).join(', ')} FROM ${CUSTOM_RELATION}`,
      columns,
      custom: { op_name: name, input: `SELECT ${list} FROM ${from}`, params },
    },
    output: { kind: 'whole' },
    operators: [`operator ${name}${given}`, ...below.operators.map((line) => `  ${line}`)],
    nonDeterministic: below.nonDeterministic ?? reason,
    requires: [...new Set([...below.requires, name])],
  };
}

function exchange(relation: string, mode: ExchangeInput['mode'], source: Source): ExchangeInput {
  return { relation, stage: source.stage, mode, columns: source.columns };
}

function renumbered(operators: readonly string[], to: (id: number) => number): readonly string[] {
  return operators.map((line) =>
    line.replace(
      /^( *(?:partition of|all of|forwarded from|rows of) stage )(\d+)/,
      (_, words: string, id: string) => words + to(Number(id)),
    ),
  );
}

/** SQL has no rows without columns. */
function columnsOf({ columns }: Scan): string {
  const list = columns.map(({ source }, at) => `${source} AS c${at}`).join(', ');
  return `SELECT ${list === '' ? 'true AS c0' : list}`;
}

/** Without stages that nothing reads: DuckDB may have found out that no row of theirs counts. */
function onlyRead(stages: readonly Stage[]): readonly Stage[] {
  const read = new Set([stages.length - 1]);
  for (const { id, fragment } of stages.toReversed())
    if (read.has(id)) for (const { stage } of fragment.inputs) read.add(stage);
  const ids = new Map([...read].toSorted((a, b) => a - b).map((id, at) => [id, at]));
  return stages
    .filter(({ id }) => read.has(id))
    .map((stage) => ({
      ...stage,
      id: ids.get(stage.id) ?? 0,
      operators: renumbered(stage.operators, (id) => ids.get(id) ?? id),
      fragment: {
        ...stage.fragment,
        inputs: stage.fragment.inputs.map((input) => ({
          ...input,
          stage: ids.get(input.stage) ?? 0,
        })),
      },
    }));
}
