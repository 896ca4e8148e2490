/** Which jobs, as a store is asked for them. */
import { readMoment, readStarter } from '../scheduler/core/index.ts';
import type { Instant } from '../scheduler/core/index.ts';
import type { JobFilter } from '../scheduler/store/index.ts';
import { labelTerms, starterText } from '../client/index.ts';
import type { JobsMatch } from '../client/index.ts';

/** As a server reads it. */
export function testFilter(match: JobsMatch): Omit<JobFilter, 'limit'> {
  const { since, until, labels, startedBy, ...filter } = match;
  const starter = starterText(startedBy);
  return {
    ...filter,
    ...(labels === undefined ? {} : { labels: labelTerms(labels) }),
    ...(starter === undefined ? {} : { startedBy: readStarter(starter, '/startedBy') }),
    ...(since === undefined ? {} : { since: momentOf('since', since) }),
    ...(until === undefined ? {} : { until: momentOf('until', until) }),
  };
}

const momentOf = (field: string, time: Date | string): Instant =>
  readMoment(typeof time === 'string' ? time : time.getTime(), () => `/${field}`);
