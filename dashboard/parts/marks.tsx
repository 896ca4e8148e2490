/** Small elements used in every view: states, times, ids, problems. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { leader, trouble } from '../api/cluster-status.ts';
import type { Problem } from '../api/problem.ts';
import { link } from '../route.ts';
import { ago, calendarTime, clockTime, duration, now, shortId } from '../words.ts';

/** A path for each state, in a box of 16: form and colour both tell. */
const GLYPHS: Readonly<Record<string, string>> = {
  queued: 'M8 3.2a4.8 4.8 0 1 0 0 9.6a4.8 4.8 0 1 0 0-9.6z',
  ready: 'M8 3.2a4.8 4.8 0 1 0 0 9.6a4.8 4.8 0 1 0 0-9.6z',
  blocked: 'M5 3.6v8.8M11 3.6v8.8',
  waiting: 'M5 3.6v8.8M11 3.6v8.8',
  delayed: 'M8 3.2a4.8 4.8 0 1 0 0 9.6a4.8 4.8 0 1 0 0-9.6zM8 5.4V8l1.8 1.4',
  running: 'M8 3.2a4.8 4.8 0 0 1 4.8 4.8',
  succeeded: 'M3.6 8.4l3 3l5.8-6.6',
  failed: 'M4.4 4.4l7.2 7.2M11.6 4.4l-7.2 7.2',
  cancelled: 'M8 3.2a4.8 4.8 0 1 0 0 9.6a4.8 4.8 0 1 0 0-9.6zM4.8 11.2l6.4-6.4',
  skipped: 'M3.6 8h8.8',
};

export function Glyph({ state }: { readonly state: string }): JSX.Element {
  return (
    <svg class={`glyph s-${state}`} viewBox="0 0 16 16" aria-hidden="true">
      {state === 'running' && <circle cx="8" cy="8" r="4.8" class="ring" />}
      <path d={GLYPHS[state] ?? GLYPHS['queued']} />
    </svg>
  );
}

export function StateMark({ state }: { readonly state: string }): JSX.Element {
  return (
    <span class={`state s-${state}`}>
      <Glyph state={state} />
      {state}
    </span>
  );
}

/** "3 min ago", with the exact time as a tooltip. */
export function Ago({ at }: { readonly at: string | null }): JSX.Element {
  if (at === null) return <span class="none">–</span>;
  return (
    <time dateTime={at} title={`${calendarTime(at)} (${at})`}>
      {ago(at, now.value)}
    </time>
  );
}

export function ClockTime({ at }: { readonly at: string }): JSX.Element {
  return (
    <time dateTime={at} title={at}>
      {clockTime(at)}
    </time>
  );
}

/** From one moment to another, or until now. */
export function Took({
  from,
  to,
}: {
  readonly from: string | null;
  readonly to: string | null;
}): JSX.Element {
  if (from === null) return <span class="none">–</span>;
  const end = to === null ? now.value : Date.parse(to);
  return <span class="num">{duration(Math.max(0, end - Date.parse(from)))}</span>;
}

/** Copying needs no HTTPS this way: the clipboard of the browser is not there on plain HTTP. */
export function copyText(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'offscreen';
  document.body.append(area);
  area.select();
  try {
    // The only way that works without HTTPS.
    // oxlint-disable-next-line typescript/no-deprecated
    return document.execCommand('copy');
  } finally {
    area.remove();
  }
}

export function Copy({
  text,
  label,
}: {
  readonly text: string;
  readonly label: string;
}): JSX.Element {
  const isCopied = useSignal(false);
  const copy = (): void => {
    isCopied.value = copyText(text);
    setTimeout(() => (isCopied.value = false), 1_200);
  };
  return (
    <button type="button" class="icon-button" onClick={copy} aria-label={label} title={label}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {isCopied.value ? (
          <path d="M3.6 8.4l3 3l5.8-6.6" />
        ) : (
          <path d="M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z" />
        )}
      </svg>
    </button>
  );
}

export function Id({ id }: { readonly id: string }): JSX.Element {
  return (
    <span class="id">
      <code title={id}>{id}</code>
      <Copy text={id} label="Copy the id" />
    </span>
  );
}

export function ShortId({ id }: { readonly id: string }): JSX.Element {
  return (
    <code class="short-id" title={id}>
      {shortId(id)}
    </code>
  );
}

const JOB_ID = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.[0-9a-f]{12})*)/;

/** Text in which each id of a job leads to it. */
export function JobLinks({ text }: { readonly text: string }): JSX.Element {
  return (
    <>
      {text.split(JOB_ID).map((part, at) =>
        at % 2 === 0 ? (
          part
        ) : (
          <a key={at} href={link(['jobs', part])}>
            <ShortId id={part} />
          </a>
        ),
      )}
    </>
  );
}

/** Only addresses that a browser opens without running anything. */
export function leaderAddress(problem: Problem | null): string | null {
  const url = problem?.leader?.url ?? leader.value?.url ?? null;
  return url !== null && /^https?:\/\//.test(url) ? `${url}/${location.hash}` : null;
}

export function ProblemNote({ problem }: { readonly problem: Problem }): JSX.Element {
  const elsewhere = problem.code === 'not_leader' ? leaderAddress(problem) : null;
  return (
    <div class="problem" role="alert">
      <strong>{problem.title}</strong>
      <p class={problem.message.includes('\n') ? 'lines' : 'wrap'}>{problem.message}</p>
      {problem.path !== null && problem.path !== '' && (
        <p>
          at <code>{problem.path}</code>
        </p>
      )}
      {elsewhere === null ? (
        problem.todo !== null && <p class="muted">{problem.todo}</p>
      ) : (
        <p>
          <a href={elsewhere}>Open this page on the leader</a>
        </p>
      )}
    </div>
  );
}

/** Above something that was read before: what the bar at the top says already is not said twice. */
export function StaleNote({ problem }: { readonly problem: Problem | null }): JSX.Element | null {
  if (problem === null || problem.status === 0 || problem.code === trouble.value?.code) return null;
  return <ProblemNote problem={problem} />;
}

export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children !== undefined && <div class="muted">{children}</div>}
    </div>
  );
}

export function Loading({ lines = 6 }: { readonly lines?: number }): JSX.Element {
  return (
    <div class="loading" aria-label="Loading" role="status">
      {Array.from({ length: lines }, (_, at) => (
        <span key={at} class={`ghost w${at % 4}`} />
      ))}
    </div>
  );
}

/** Instead of a view whose data has not arrived. `missing` is shown when there is no such thing. */
export function NotLoaded({
  problem,
  missing,
  title,
}: {
  readonly problem: Problem | null;
  readonly missing?: JSX.Element;
  readonly title?: string;
}): JSX.Element {
  if (missing !== undefined && problem?.status === 404) return missing;
  return (
    <section class="view">
      {title !== undefined && (
        <div class="view-head">
          <h1>{title}</h1>
        </div>
      )}
      {problem === null ? <Loading /> : <ProblemNote problem={problem} />}
    </section>
  );
}

/** How long something has run, if it has started. */
export function RunTime({
  of,
}: {
  readonly of: { readonly startedAt: string | null; readonly finishedAt: string | null };
}): JSX.Element | null {
  if (of.startedAt === null) return null;
  return (
    <span>
      {of.finishedAt === null ? 'running for' : 'took'}{' '}
      <Took from={of.startedAt} to={of.finishedAt} />
    </span>
  );
}
