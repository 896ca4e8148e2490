/** Keys that work everywhere, and those of the view that is shown. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { go } from './route.ts';
import { nextTheme } from './theme.ts';

export const isHelpOpen = signal(false);

export const PLACES: readonly {
  readonly key: string;
  readonly path: string;
  readonly title: string;
}[] = [
  { key: 'j', path: 'jobs', title: 'Jobs' },
  { key: 'q', path: 'queries', title: 'Queries' },
  { key: 'n', path: 'nodes', title: 'Nodes' },
  { key: 's', path: 'schedules', title: 'Schedules' },
  { key: 'e', path: 'events', title: 'Events' },
  { key: 'h', path: 'health', title: 'Health' },
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
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
