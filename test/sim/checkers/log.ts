import type { Evidence } from './evidence.ts';

/** The log has no gaps, nothing twice, and its times do not go back. */
export function checkLog({ tables, journal, findings, driftMs }: Evidence): void {
  const { events, lastSeq } = tables;
  events.forEach((event, at) => {
    if (event.seq !== at + 1) findings.add('log', `event ${event.seq} stands at place ${at + 1}`);
    const before = events[at - 1];
    if (before !== undefined && event.at < before.at - driftMs) {
      const what = `event ${event.seq} (${event.kind}) is of ${event.at}`;
      findings.add('log', `${what}, ${before.at - event.at} ms before the one before it`);
    }
  });
  if (events.length !== lastSeq) {
    findings.add('log', `${events.length} events, but lastSeq is ${lastSeq}`);
  }
  if (journal.events.length !== events.length) {
    const what = `${journal.events.length} events were committed`;
    findings.add('log', `${what}, ${events.length} are there`);
  }
}
