/** Queries: an editor, and those that were run. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { QuerySummary } from '../../../src/scheduler/contract/index.ts';
import { call } from '../../api/call.ts';
import { Ago, Empty, Loading, StateMark, Took, StaleNote } from '../../parts/marks.tsx';
import { useResource } from '../../parts/resource.ts';
import { link } from '../../route.ts';
import { QueryEditor } from './editor.tsx';

interface Page {
  readonly queries: readonly QuerySummary[];
  readonly cursor: string | null;
}

const PAGE = 50;

export function QueriesView(): JSX.Element {
  const size = useSignal(PAGE);
  const { state } = useResource(
    `queries ${size.value}`,
    (signal) => call<Page>(`queries?limit=${size.value}`, { signal }),
    {
      refreshOn: ({ kind }) => kind.startsWith('job.'),
      everyMs: 1_500,
    },
  );
  const { value, problem } = state.value;
  return (
    <section class="view">
      <div class="view-head">
        <h1>Queries</h1>
      </div>
      <QueryEditor />
      <h2>Recent</h2>
      <StaleNote problem={problem} />
      {value === null ? problem === null && <Loading /> : <QueryTable queries={value.queries} />}
      {value !== null && value.cursor !== null && size.value < 1_000 && (
        <p>
          <button type="button" onClick={() => (size.value = Math.min(1_000, size.value * 4))}>
            Show more
          </button>
        </p>
      )}
    </section>
  );
}

function QueryTable({ queries }: { readonly queries: readonly QuerySummary[] }): JSX.Element {
  if (queries.length === 0) return <Empty title="No queries yet">Write one above.</Empty>;
  return (
    <div class="table-box">
      <table class="query-list">
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Query</th>
            <th scope="col" class="right">
              Took
            </th>
            <th scope="col" class="right">
              Submitted
            </th>
          </tr>
        </thead>
        <tbody>
          {queries.map((query) => (
            <tr key={query.id}>
              <td>
                <StateMark state={query.state} />
              </td>
              <td>
                <a href={link(['queries', query.id])}>
                  <code>{query.name.replace(/^sql: /, '')}</code>
                </a>
                {query.error !== null && <span class="error under">{query.error.message}</span>}
              </td>
              <td class="right num">
                <Took from={query.startedAt} to={query.finishedAt} />
              </td>
              <td class="right num">
                <Ago at={query.submittedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
