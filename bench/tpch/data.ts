/** The data of the benchmarks: made once for each scale, kept in `bench/.data`. */
import { fileURLToPath } from 'node:url';
import { tpchData } from './generate.ts';

/** `--sf 10`; 1 if not given, and less when it only has to show that it runs. */
export function scaleFrom(words: readonly string[], quick: boolean): number {
  const at = words.indexOf('--sf');
  if (at < 0) return quick ? 0.1 : 1;
  const scale = Number(words[at + 1]);
  if (!(scale > 0)) throw new Error(`--sf takes a scale above 0, not ${words[at + 1]}.`);
  return scale;
}

export async function benchData(
  scale: number,
  say: (line: string) => void,
): Promise<Readonly<Record<string, string>>> {
  const folder = fileURLToPath(new URL(`../.data/tpch-${scale}`, import.meta.url));
  const startedAt = performance.now();
  const globs = await tpchData({ folder, scale });
  const seconds = (performance.now() - startedAt) / 1_000;
  if (seconds > 0.1) say(`  data at scale ${scale} made in ${seconds.toFixed(1)} s`);
  return globs;
}
