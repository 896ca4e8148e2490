/** Why a task waits: the leader's explanation, and what each candidate node lacks. */
import type { JSX } from 'preact';
import type { Explanation } from '../../../src/scheduler/core/index.ts';
import { call } from '../../api/call.ts';
import type { Problem } from '../../api/problem.ts';
import { ProblemNote, leaderAddress } from '../../parts/marks.tsx';
import { useResource } from '../../parts/resource.ts';
import { duration } from '../../words.ts';

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
        {value.why}
        {value.ageMs !== null && <span class="muted"> (ready for {duration(value.ageMs)})</span>}
      </p>
      {value.nearest.length > 0 && <Matrix nearest={value.nearest} />}
    </section>
  );
}

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

interface Lack {
  readonly need: string;
  readonly seen: string;
}

/** `capability gpu is missing, needs 'nvidia'` says both what is needed and what was seen. */
function lackOf(words: string): Lack {
  const [, name, seen, need] = /^capability (\S+) (?:is )?(.*?), needs (.*)$/.exec(words) ?? [];
  if (name !== undefined && need !== undefined)
    return { need: `${name} ${need}`, seen: seen ?? '' };
  return { need: words, seen: 'missing' };
}

function Matrix({ nearest }: { readonly nearest: Explanation['nearest'] }): JSX.Element {
  const nodes = nearest.map(({ nodeId, lacks }) => ({
    nodeId,
    lacks: new Map(lacks.map(lackOf).map((lack) => [lack.need, lack.seen])),
  }));
  const needs = [...new Set(nodes.flatMap(({ lacks }) => [...lacks.keys()]))];
  return (
    <div class="table-box">
      <table class="matrix">
        <thead>
          <tr>
            <th scope="col">Needs</th>
            {nodes.map(({ nodeId }) => (
              <th key={nodeId} scope="col">
                {nodeId}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {needs.map((need) => (
            <tr key={need}>
              <th scope="row">
                <code>{need}</code>
              </th>
              {nodes.map(({ nodeId, lacks }) => (
                <td key={nodeId} class={lacks.has(need) ? 's-failed' : 's-succeeded'}>
                  {lacks.has(need) ? `✕ ${lacks.get(need) ?? ''}` : '✓'}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
