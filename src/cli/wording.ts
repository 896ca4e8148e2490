/** Times and errors as short text. */
import type { TaskError } from '../scheduler/core/index.ts';

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const;

/** `340ms`, `12s`, `3m 20s`, `2h 5m`, `4d 1h`: two units at most. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))}ms`;
  const first = UNITS.findIndex(([size]) => ms >= size);
  const [size, word] = UNITS[first] ?? UNITS[3];
  const whole = `${Math.floor(ms / size)}${word}`;
  const next = UNITS[first + 1];
  if (next === undefined) return whole;
  const rest = Math.floor((ms % size) / next[0]);
  return rest === 0 ? whole : `${whole} ${rest}${next[1]}`;
}

/** The same for what people wait for: `2.9s`. */
export function exactSpan(ms: number): string {
  return ms < 1_000 || ms >= 60_000 ? span(ms) : `${(ms / 1_000).toFixed(1)}s`;
}

/** Why a task waits, with times of ten seconds and more as text. */
export function reasonWords(why: string): string {
  return why.replaceAll(/\b(\d{5,}) ms\b/g, (_, ms: string) => span(Number(ms)));
}

/** Relative to the time of the answer, by the server's clock: the two machines' may differ. */
export function when(at: string | null, asOf: string): string | null {
  if (at === null) return null;
  const ms = Date.parse(asOf) - Date.parse(at);
  if (Number.isNaN(ms)) return at;
  return ms >= 0 ? `${span(ms)} ago` : `in ${span(-ms)}`;
}

/** How long it took, or has taken so far. */
export function took(from: string | null, to: string | null, asOf: string): string | null {
  if (from === null) return null;
  const ms = Date.parse(to ?? asOf) - Date.parse(from);
  return Number.isNaN(ms) ? null : span(ms);
}

export function errorWords(error: TaskError | null): string | null {
  return error === null ? null : `${error.code}: ${error.message}`;
}

export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

const SIZES = [
  [2 ** 40, 'TiB'],
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
] as const;

/** `17 B`, `3.4 MiB`. */
export function bytesWords(bytes: number): string {
  const unit = SIZES.find(([size]) => bytes >= size);
  return unit === undefined ? `${bytes} B` : `${(bytes / unit[0]).toFixed(1)} ${unit[1]}`;
}

/** `1,234,567`. */
export function countWords(count: number): string {
  return count.toLocaleString('en');
}
