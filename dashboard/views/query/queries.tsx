/** Queries: an editor, and those that were run. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { QuerySummary } from '../../../src/scheduler/contract/index.ts';
import { call } from '../../api/call.ts';
import { me } from '../../api/cluster-status.ts';
import {
  Ago,
  Empty,
  Loading,
  StateMark,
  Took,
  StaleNote,
  leaderAddress,
} from '../../parts/marks.tsx';
import { useResource } from '../../parts/resource.ts';
import { link } from '../../route.ts';
import { QueryEditor } from './editor.tsx';

interface Page {
  readonly queries: readonly QuerySummary[];
  readonly cursor: string | null;
}

const PAGE = 50;

/** A page may be short, or empty, because other jobs lie between: these are skipped, up to a limit. */
const PAGES_MAX = 6;

async function queriesPage(size: number, signal: AbortSignal): Promise<Page> {
  const queries: QuerySummary[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const search = new URLSearchParams({
      limit: String(size),
      ...(cursor === null ? {} : { cursor }),
    });
    const page: Page = await call<Page>(`queries?${search}`, { signal });
    queries.push(...page.queries);
    ({ cursor } = page);
    if (cursor === null || queries.length >= size) break;
  }
  return { queries, cursor };
}

/** An observer without a database has no queries. */
export function QueriesView(): JSX.Element {
  if (me.value?.node.hasQueries !== false) return <Queries />;
  const address = leaderAddress(null);
  return (
    <Empty title="This node does not serve queries">
      {address === null ? (
        'Use a node that has access to the database.'
      ) : (
        <a href={address}>Open this page on the leader</a>
      )}
    </Empty>
  );
}

function Queries(): JSX.Element {
  const size = useSignal(PAGE);
  const { state } = useResource(
    `queries ${size.value}`,
    (signal) => queriesPage(size.value, signal),
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
      {value === null ? (
        problem === null && <Loading />
      ) : (
        <QueryTable queries={value.queries} isEnd={value.cursor === null} />
      )}
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

function QueryTable({
  queries,
  isEnd,
}: {
  readonly queries: readonly QuerySummary[];
  readonly isEnd: boolean;
}): JSX.Element {
  if (queries.length === 0)
    return (
      <Empty title={isEnd ? 'No queries yet' : 'No query among the newest jobs'}>
        Write one above.
      </Empty>
    );
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
