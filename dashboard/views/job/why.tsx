/** Why a task waits: the leader's explanation, and what each candidate node lacks. */
import type { JSX } from 'preact';
import type { Explanation } from '../../../src/scheduler/core/index.ts';
import { call } from '../../api/call.ts';
import type { Problem } from '../../api/problem.ts';
import { Glyph, JobLinks, ProblemNote, leaderAddress } from '../../parts/marks.tsx';
import { useResource } from '../../parts/resource.ts';
import { duration, withoutFigures } from '../../words.ts';
import { waitWords } from './wait-words.ts';

export function Why({
  job,
  task,
}: {
  readonly job: string;
  readonly task: string;
}): JSX.Element | null {
  const path = `jobs/${encodeURIComponent(job)}/tasks/${encodeURIComponent(task)}/explain`;
  const { state } = useResource(path, (signal) => call<Explanation>(path, { signal }), {
    pollMs: 2_000,
  });
  const { value, problem } = state.value;
  if (value === null) return problem === null ? null : <Unknown problem={problem} />;
  if (value.code === 'ended' || value.code === 'running') return null;
  return (
    <section>
      <h3>Why it waits</h3>
      <p class="why">
        <JobLinks text={sentence(withoutFigures(waitWords(value.why)))} />
        {value.ageMs !== null && <span class="muted"> (ready for {duration(value.ageMs)})</span>}
      </p>
      {value.code === 'paused' && (
        <p>
          <a href="#/health">Queues can be resumed here</a>
        </p>
      )}
      {value.nearest.length > 0 && <Matrix nearest={value.nearest} />}
    </section>
  );
}

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

/** Another node than the leader has the sentence above, and not the rest. */
function Unknown({ problem }: { readonly problem: Problem }): JSX.Element {
  const address = problem.code === 'not_leader' ? leaderAddress(problem) : null;
  if (address === null) return <ProblemNote problem={problem} />;
  return (
    <p class="muted">
      Only the leader knows what each node lacks. <a href={address}>Open this page there</a>
    </p>
  );
}

/** What is asked for in rows, the nearest nodes in columns. */
function Matrix({ nearest }: { readonly nearest: Explanation['nearest'] }): JSX.Element {
  const [first] = nearest;
  return (
    <div class="table-box" role="group" tabIndex={0} aria-label="Requirements and nodes">
      <table class="matrix">
        <thead>
          <tr>
            <th scope="col">Needs</th>
            {nearest.map(({ nodeId, lacks }) => (
              <th key={nodeId} scope="col">
                {nodeId}
                <span class="muted"> lacks {lacks.length}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(first?.needs ?? []).map(({ need }, at) => (
            <tr key={need}>
              <th scope="row">
                <code>{need}</code>
              </th>
              {nearest.map(({ nodeId, needs }) => {
                const { isMet = false, seen = '' } = needs[at] ?? {};
                return (
                  <td key={nodeId} class={isMet ? 'met' : 'unmet'}>
                    <Glyph state={isMet ? 'succeeded' : 'failed'} />
                    <span class="sr-only">{isMet ? 'met: ' : 'not met: '}</span>
                    {seen}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
