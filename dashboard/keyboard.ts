/** Keys that work everywhere, and those of the view that is shown. */
import { isPaused } from './api/live.ts';
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { go } from './route.ts';
import { nextTheme } from './theme.ts';

export const isHelpOpen = signal(false);

export const PLACES: readonly {
  readonly key: string;
  readonly path: string;
  readonly title: string;
  /** A path in a box of 16. */
  readonly icon: string;
}[] = [
  { key: 'j', path: 'jobs', title: 'Jobs', icon: 'M3 4.5h10M3 8h10M3 11.5h6' },
  { key: 'q', path: 'queries', title: 'Queries', icon: 'M3.5 4.5l3 3.5-3 3.5M8.5 11.5h4' },
  {
    key: 'n',
    path: 'nodes',
    title: 'Nodes',
    icon: 'M3 3.2h10v3.9H3zM3 8.9h10v3.9H3zM5.3 5.2h.01M5.3 10.9h.01',
  },
  {
    key: 's',
    path: 'schedules',
    title: 'Schedules',
    icon: 'M8 2.8a5.2 5.2 0 1 0 0 10.4a5.2 5.2 0 1 0 0-10.4zM8 5.2V8l2 1.4',
  },
  { key: 'e', path: 'events', title: 'Events', icon: 'M2.4 8h2.5l1.8-4.2 2.6 8.4L11.1 8h2.5' },
  {
    key: 'h',
    path: 'health',
    title: 'Health',
    icon: 'M8 13S2.8 9.8 2.8 6.2A2.7 2.7 0 0 1 8 5.2a2.7 2.7 0 0 1 5.2 1C13.2 9.8 8 13 8 13z',
  },
];

type Keys = Readonly<Record<string, () => void>>;

const own: Set<Keys> = new Set();

export function useKeys(keys: Keys): void {
  useEffect(() => {
    own.add(keys);
    return () => void own.delete(keys);
  });
}

/** A second key must follow the first soon. */
const SEQUENCE_MS = 1_200;

export function watchKeys(): void {
  let goesUntil = 0;
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    const { key } = event;
    const place =
      performance.now() < goesUntil ? PLACES.find((each) => each.key === key) : undefined;
    goesUntil = 0;
    if (place !== undefined) go(`#/${place.path}`);
    else if (key === 'g') goesUntil = performance.now() + SEQUENCE_MS;
    else if (key === '?') isHelpOpen.value = true;
    else if (key === 't') nextTheme();
    else if (key === 'p') isPaused.value = !isPaused.value;
    else if (key === '/') document.querySelector<HTMLElement>('[data-search]')?.focus();
    else if (!runOwn(key)) return;
    event.preventDefault();
  });
}

function runOwn(key: string): boolean {
  for (const keys of own) {
    const run = Object.hasOwn(keys, key) ? keys[key] : undefined;
    if (run === undefined) continue;
    run();
    return true;
  }
  return false;
}

function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  if (document.querySelector('dialog[open]') !== null) return true;
  if (!(target instanceof HTMLElement)) return false;
  // Enter is theirs.
  if (event.key === 'Enter' && target.closest('a, button, summary') !== null) return true;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
