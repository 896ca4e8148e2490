/** What a person needs when a simulation failed: the rule, the story, and how to see it again. */
import type { Outcome } from './run.ts';

const FINDINGS_MAX = 10;
const LINES_MAX = 80;

/** Empty when there is nothing to tell. */
export function report({ seed, findings, trace, options }: Outcome): string {
  if (findings.length === 0) return '';
  const broken = findings
    .slice(0, FINDINGS_MAX)
    .map(({ rule, what }) => `  rule "${rule}" is broken: ${what}`);
  const more = findings.length - broken.length;
  return [
    `seed ${seed} failed`,
    ...broken,
    ...(more > 0 ? [`  and ${more} more`] : []),
    `the end of its trace (virtual seconds, who, what):`,
    ...trace.tail().slice(-LINES_MAX),
    `its options: ${JSON.stringify(options)}`,
    `reproduce it with: npm run sim -- --seed ${seed} --trace`,
  ].join('\n');
}
