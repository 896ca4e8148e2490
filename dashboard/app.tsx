/** The frame of every view: where one can go, how the connection stands, and what the server asks for. */
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import { signIn, signInNeeded, signOut, token } from './api/call.ts';
import { connection, isPaused } from './api/live.ts';
import { asOf, leader, me, trouble } from './api/cluster-status.ts';
import { isHelpOpen, PLACES } from './keyboard.ts';
import { Dialog, News } from './parts/dialog.tsx';
import { Empty, leaderAddress } from './parts/marks.tsx';
import { route } from './route.ts';
import { nextTheme, theme } from './theme.ts';
import { EventsView } from './views/events.tsx';
import { JobView } from './views/job/job.tsx';
import { JobsView } from './views/jobs.tsx';
import { Later } from './views/later.tsx';
import { NodesView } from './views/nodes.tsx';
import { ago, count, now } from './words.ts';

export function App(): JSX.Element {
  const [place = 'jobs'] = route.value.path;
  document.title = `${PLACES.find(({ path }) => path === place)?.title ?? 'Millrace'} · Millrace`;
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => skip(event)}>
        Skip to the content
      </a>
      <Sidebar place={place} />
      <main id="main" tabIndex={-1}>
        <Trouble />
        {signInNeeded.value === null ? <View /> : <SignIn />}
        <footer class="foot">
          <Facts />
        </footer>
      </main>
      <News />
      {isHelpOpen.value && <Help />}
    </div>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#main')?.focus();
}

function View(): JSX.Element {
  const [place, id] = route.value.path;
  switch (place) {
    case undefined:
    case 'jobs':
      return id === undefined ? <JobsView /> : <JobView key={id} id={id} />;
    case 'queries':
      return id === undefined ? (
        <Later name="QueriesView" />
      ) : (
        <Later name="QueryView" key={id} id={id} />
      );
    case 'nodes':
      return <NodesView />;
    case 'schedules':
      return <Later name="SchedulesView" />;
    case 'events':
      return <EventsView />;
    case 'health':
      return <Later name="HealthView" />;
    default:
      return (
        <Empty title="There is nothing here">
          <a href="#/jobs">Go to the jobs</a>
        </Empty>
      );
  }
}

function Sidebar({ place }: { readonly place: string }): JSX.Element {
  return (
    <header class="sidebar">
      <a class="brand" href="#/jobs" aria-label="Millrace">
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="M2.5 8.5c2.4-2.6 4.7-2.6 7.1 0s4.7 2.6 7.1 0 3.2-2.6 4.8-1.7" />
          <path d="M2.5 15.5c2.4-2.6 4.7-2.6 7.1 0s4.7 2.6 7.1 0 3.2-2.6 4.8-1.7" />
        </svg>
        Millrace
      </a>
      <nav class="places" aria-label="Views">
        {PLACES.map(({ path, title, key, icon }) => (
          <a
            key={path}
            href={`#/${path}`}
            aria-label={title}
            aria-current={path === place ? 'page' : undefined}
          >
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d={icon} />
            </svg>
            <span>{title}</span>
            <kbd aria-hidden="true">g {key}</kbd>
          </a>
        ))}
      </nav>
      <Standing />
    </header>
  );
}

const LIVE_WORDS = {
  connecting: 'Connecting',
  live: 'Live',
  busy: 'Live, sampled',
  retrying: 'Reconnecting',
} as const;

function Standing(): JSX.Element {
  const { state } = connection.value;
  const shown = isPaused.value ? 'paused' : state;
  return (
    <div class="standing">
      <button
        type="button"
        class={`live l-${shown}`}
        aria-pressed={isPaused.value}
        onClick={() => (isPaused.value = !isPaused.value)}
        title={isPaused.value ? 'Follow events again' : 'Pause live updates'}
      >
        <span class="dot" aria-hidden="true" />
        {isPaused.value ? 'Paused' : LIVE_WORDS[state]}
      </button>
      <Facts />
    </div>
  );
}

/** In the sidebar, or below the view where there is no room for one. */
function Facts(): JSX.Element {
  const who = me.value;
  return (
    <>
      <dl>
        <dt>Leader</dt>
        <dd>{leader.value?.nodeId ?? '–'}</dd>
        <dt>Event</dt>
        <dd class="num">{asOf.value === null ? '–' : `#${count(asOf.value.seq)}`}</dd>
        {who !== null && (
          <>
            <dt>Node</dt>
            <dd title={`Millrace ${who.node.version}`}>{who.node.id}</dd>
            <dt>Role</dt>
            <dd>{who.role}</dd>
          </>
        )}
      </dl>
      <div class="standing-buttons">
        <button type="button" class="quiet" onClick={nextTheme} title="Theme (t)">
          theme: {theme.value}
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => (isHelpOpen.value = true)}
          title="Keys (?)"
        >
          keys
        </button>
        {token.value !== null && (
          <button type="button" class="quiet" onClick={signOut}>
            sign out
          </button>
        )}
      </div>
    </>
  );
}

const LATE_MS = 15_000;

/** Problems of the cluster or of this page, shown above the last data. */
function Trouble(): JSX.Element | null {
  const problem =
    trouble.value ?? (connection.value.state === 'retrying' ? connection.value.problem : null);
  if (signInNeeded.value !== null) return null;
  if (problem !== null && problem.status !== 401) {
    return (
      <div class="trouble" role="alert">
        <strong>{titleOf(problem.code, problem.title)}</strong>
        <span>{problem.message} What is shown may be out of date.</span>
      </div>
    );
  }
  const late =
    asOf.value === null || me.value?.node.leads === true
      ? 0
      : now.value - Date.parse(asOf.value.at);
  if (late < LATE_MS || asOf.value === null) return null;
  const address = leaderAddress(null);
  return (
    <div class="trouble" role="status">
      <strong>This node is behind</strong>
      <span>
        It shows the state of {ago(asOf.value.at, now.value)}.{' '}
        {address !== null && <a href={address}>Open the leader</a>}
      </span>
    </div>
  );
}

function titleOf(code: string, title: string): string {
  if (code === 'not_leader') return 'No leader';
  if (code === 'store_unavailable') return 'No database';
  return title;
}

function SignIn(): JSX.Element {
  const text = useSignal('');
  const problem = signInNeeded.value;
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text.value.trim() !== '') signIn(text.value.trim());
  };
  return (
    <form class="sign-in" onSubmit={submit}>
      <h1>Sign in</h1>
      <p>
        {token.value === null
          ? 'This server asks everybody for a token. Whoever runs it can give you one.'
          : problem?.message}
      </p>
      <label>
        Token
        <input
          type="password"
          name="token"
          autocomplete="off"
          autofocus
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      </label>
      <p class="muted">It is kept in this tab only, until the tab is closed.</p>
      <button type="submit" class="primary" disabled={text.value.trim() === ''}>
        Sign in
      </button>
    </form>
  );
}

const KEYS: readonly (readonly [string, string])[] = [
  ...PLACES.map(({ key, title }) => [`g ${key}`, title] as const),
  ['/', 'Search'],
  ['j k', 'Next, previous row'],
  ['Enter', 'Open the row'],
  ['p', 'Pause or follow'],
  ['t', 'Theme'],
  ['?', 'This list'],
];

function Help(): JSX.Element {
  const close = (): void => {
    isHelpOpen.value = false;
  };
  return (
    <Dialog title="Keys" onClose={close}>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div class="dialog-buttons">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
