/** A box for JSON, and what it differs in from the JSON that was there before. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { parseExactly } from '../api/exact-json.ts';
import { plural } from '../words.ts';
import { folded, lineDiff } from './line-diff.ts';

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly why: string };

/** No text at all is null. */
export function parsedJson(text: string): ParsedJson {
  if (text.trim() === '') return { ok: true, value: null };
  try {
    return { ok: true, value: parseExactly(text) };
  } catch (error) {
    return { ok: false, why: `This is not JSON: ${error instanceof Error ? error.message : ''}` };
  }
}

export const prettyJson = (value: unknown): string => JSON.stringify(value, null, 2) ?? 'null';

export function JsonInput({
  label,
  text,
  rows = 5,
  example = '',
}: {
  readonly label: string;
  readonly text: Signal<string>;
  readonly rows?: number;
  readonly example?: string;
}): JSX.Element {
  const parsed = parsedJson(text.value);
  return (
    <>
      <label>
        {label}
        <textarea
          class="code"
          rows={rows}
          value={text.value}
          spellcheck={false}
          placeholder={example}
          aria-invalid={!parsed.ok}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      </label>
      {!parsed.ok && <p class="error">{parsed.why}</p>}
    </>
  );
}

const MARKS = { same: ' ', removed: '−', added: '+' } as const;
const WORDS = { same: '', removed: 'removed: ', added: 'added: ' } as const;
const LINES_MAX = 400;

export function JsonDiff({
  before,
  after,
  what = 'input',
}: {
  readonly before: unknown;
  readonly after: unknown;
  readonly what?: string;
}): JSX.Element {
  const lines = lineDiff(prettyJson(before), prettyJson(after));
  const changes = lines.filter(({ kind }) => kind !== 'same').length;
  if (changes === 0) return <p class="muted">The {what} is not changed.</p>;
  const parts = folded(lines);
  return (
    <div class="diff" role="group" aria-label={`What changes in the ${what}`} tabIndex={0}>
      {parts.slice(0, LINES_MAX).map((part, at) =>
        part.kind === 'left out' ? (
          <div key={at} class="d-gap">
            {plural(part.count, 'equal line')}
          </div>
        ) : (
          <div key={at} class={`d-${part.kind}`}>
            <span aria-hidden="true">{MARKS[part.kind]} </span>
            <span class="sr-only">{WORDS[part.kind]}</span>
            {part.text}
          </div>
        ),
      )}
      {parts.length > LINES_MAX && (
        <div class="d-gap">{plural(parts.length - LINES_MAX, 'more line')}</div>
      )}
    </div>
  );
}
