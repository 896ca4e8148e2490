/** JSON of any size: folded, in portions, and never as anything but text. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Json } from '../../src/scheduler/core/index.ts';
import { digitsOf } from '../api/exact-json.ts';
import { bytes, count, plural } from '../words.ts';
import { Copy } from './marks.tsx';

const CHILDREN_AT_ONCE = 100;
const TEXT_AT_ONCE = 2_000;

export function JsonView({
  value,
  name,
}: {
  readonly value: Json;
  readonly name: string;
}): JSX.Element {
  // Formatted only on demand: a large value takes long.
  const save = (): void => {
    const text = JSON.stringify(value, null, 2);
    saveFile(new Blob([text], { type: 'application/json' }), `${name}.json`);
  };
  const isLarge = sizeOf(value, 20_000) >= 20_000;
  return (
    <div class="json">
      <div class="json-tools">
        {isLarge ? (
          <span class="muted">too large to copy</span>
        ) : (
          <Copy text={JSON.stringify(value, null, 2)} label={`Copy the ${name}`} />
        )}
        <button type="button" class="quiet" onClick={save}>
          Download
        </button>
      </div>
      <Node value={value} depth={0} />
    </div>
  );
}

/** About how many characters it has, counted up to a limit. */
function sizeOf(value: Json, limit: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (value === null || typeof value !== 'object') return 6;
  let size = 2;
  for (const [key, each] of Object.entries(value)) {
    size += key.length + sizeOf(each, limit - size);
    if (size >= limit) return size;
  }
  return size;
}

export function saveFile(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function Node({ value, depth }: { readonly value: Json; readonly depth: number }): JSX.Element {
  if (value === null) return <span class="j-null">null</span>;
  if (typeof value === 'string') return <Text text={value} />;
  if (typeof value === 'object') {
    const digits = digitsOf(value);
    if (digits === null) return <Branch value={value} depth={depth} />;
    return <span class="j-number">{digits}</span>;
  }
  return <span class={typeof value === 'number' ? 'j-number' : 'j-null'}>{String(value)}</span>;
}

function Text({ text }: { readonly text: string }): JSX.Element {
  const isWhole = useSignal(false);
  if (text.length <= TEXT_AT_ONCE || isWhole.value) {
    return <span class="j-text">{JSON.stringify(text)}</span>;
  }
  return (
    <span class="j-text">
      {JSON.stringify(text.slice(0, TEXT_AT_ONCE)).slice(0, -1)}…{' '}
      <button type="button" class="quiet" onClick={() => (isWhole.value = true)}>
        show all {bytes(text.length)}
      </button>
    </span>
  );
}

function Branch({ value, depth }: { readonly value: object; readonly depth: number }): JSX.Element {
  const isList = Array.isArray(value);
  const size = isList ? value.length : Object.keys(value).length;
  const isOpen = useSignal(depth === 0 || (depth < 3 && size <= 12));
  const shown = useSignal(CHILDREN_AT_ONCE);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (size === 0) return <span class="j-null">{`${open}${close}`}</span>;
  const about = isList ? plural(size, 'item') : plural(size, 'field');
  if (!isOpen.value) {
    return (
      <button
        type="button"
        class="j-fold"
        onClick={() => (isOpen.value = true)}
        aria-expanded="false"
      >
        {open} {about} {close}
      </button>
    );
  }
  const entries = Object.entries(value).slice(0, shown.value);
  return (
    <span class="j-branch">
      <button
        type="button"
        class="j-fold"
        onClick={() => (isOpen.value = false)}
        aria-expanded="true"
        title={about}
      >
        {open}
      </button>
      <ul>
        {entries.map(([key, each]) => (
          <li key={key}>
            {!isList && <span class="j-key">{JSON.stringify(key)}: </span>}
            <Node value={each as Json} depth={depth + 1} />
          </li>
        ))}
        {size > shown.value && (
          <li>
            <button type="button" class="quiet" onClick={() => (shown.value += 1_000)}>
              {count(size - shown.value)} more
            </button>
          </li>
        )}
      </ul>
      {close}
    </span>
  );
}
