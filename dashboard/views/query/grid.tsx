/** The rows of a result: virtual, exact, to be copied or saved. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { QueryShape } from '../../../src/scheduler/contract/index.ts';
import type { Json } from '../../../src/scheduler/core/index.ts';
import { api, request, token } from '../../api/call.ts';
import { type Problem, asProblem, isAbort } from '../../api/problem.ts';
import { say } from '../../parts/dialog.tsx';
import { saveFile } from '../../parts/json-view.tsx';
import { Ago, Empty, Loading, ProblemNote, copyText } from '../../parts/marks.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { count, plural } from '../../words.ts';
import { type ResultRows, readRows } from './result-rows.ts';

const ROW = 26;
const ROWS_MAX = 50_000;
const COPY_MAX = 10_000;

export function ResultGrid({ query }: { readonly query: QueryShape }): JSX.Element {
  const result = useSignal<ResultRows | null>(null);
  const problem = useSignal<Problem | null>(null);
  useEffect(() => {
    const over = new AbortController();
    readRows(query.id, ROWS_MAX, over.signal)
      .then((rows) => (result.value = rows))
      .catch((error: unknown) => {
        if (!isAbort(error)) problem.value = asProblem(error);
      });
    return () => over.abort();
  }, [query.id]);
  if (problem.value !== null) return <ProblemNote problem={problem.value} />;
  if (result.value === null) return <Loading />;
  const { rows, isCut } = result.value;
  const total = query.stages.find(({ output }) => output === 'result')?.rowsOut ?? 0;
  return (
    <div class="result">
      <div class="result-tools">
        <span class="num">
          {isCut
            ? `The first ${count(rows.length)} of ${plural(Math.max(rows.length, total), 'row')}`
            : plural(rows.length, 'row')}
          {query.expiresAt !== null && (
            <span class="muted">
              {' '}
              · removed <Ago at={query.expiresAt} />
            </span>
          )}
        </span>
        <span class="actions">
          <button type="button" onClick={() => copyRows(result.value)}>
            Copy
          </button>
          <Download id={query.id} format="csv" />
          <Download id={query.id} format="parquet" />
        </span>
      </div>
      {rows.length === 0 ? <Empty title="No rows" /> : <Rows result={result.value} />}
    </div>
  );
}

function copyRows(result: ResultRows | null): void {
  if (result === null) return;
  const cell = (value: Json): string => textOf(value).replaceAll(/[\t\n\r]/g, ' ');
  const rows = result.rows.slice(0, COPY_MAX);
  const lines = [result.columns.map(({ name }) => cell(name)), ...rows.map((row) => row.map(cell))];
  copyText(lines.map((line) => line.join('\t')).join('\n'));
  say(`${plural(rows.length, 'row')} copied, with tabs between the columns.`);
}

/** A link cannot send a token; then the file is fetched first. */
function Download({
  id,
  format,
}: {
  readonly id: string;
  readonly format: 'csv' | 'parquet';
}): JSX.Element {
  const address = api(`queries/${encodeURIComponent(id)}/results?format=${format}`);
  const title = format === 'csv' ? 'CSV' : 'Parquet';
  if (token.value === null) {
    return (
      <a class="button" href={address} download={`${id}.${format}`}>
        {title}
      </a>
    );
  }
  const save = async (): Promise<void> => {
    try {
      saveFile(await (await request(address)).blob(), `${id}.${format}`);
    } catch (error) {
      say(asProblem(error).message);
    }
  };
  return (
    <button type="button" onClick={() => void save()}>
      {title}
    </button>
  );
}

const textOf = (value: Json): string =>
  value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);

const isNumber = (type: string): boolean =>
  /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)$/.test(type);

const CELL_MAX = 400;

function Rows({ result }: { readonly result: ResultRows }): JSX.Element {
  const { columns, rows } = result;
  const widths = columns.map(({ name }, at) => {
    const longest = Math.max(
      name.length + 1,
      ...rows.slice(0, 60).map((row) => textOf(row[at] ?? null).length),
    );
    return Math.min(44, Math.max(5, longest)) + 3;
  });
  const template = {
    gridTemplateColumns: `6ch ${widths.map((width) => `${width}ch`).join(' ')}`,
    width: `${widths.reduce((sum, width) => sum + width, 8)}ch`,
  };
  return (
    <VirtualList
      label="Rows"
      class="grid"
      count={rows.length}
      rowHeight={ROW}
      header={
        <div class="row head" role="row" style={template}>
          <span />
          {columns.map(({ name, type }, at) => (
            <span key={at} role="columnheader" class={isNumber(type) ? 'right' : ''} title={type}>
              {name}
            </span>
          ))}
        </div>
      }
      row={(at) => (
        <div key={at} class="row" role="row" style={template}>
          <span class="right muted num">{at + 1}</span>
          {columns.map(({ type }, column) => {
            const value = rows[at]?.[column] ?? null;
            const text = textOf(value).slice(0, CELL_MAX);
            return (
              <span key={column} role="cell" class={isNumber(type) ? 'right num' : ''} title={text}>
                {value === null ? <span class="none">null</span> : text}
              </span>
            );
          })}
        </div>
      )}
    />
  );
}
