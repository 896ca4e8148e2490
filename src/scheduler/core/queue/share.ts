/** The turns of all jobs with one fairness key: between keys, one of them counts as much as a single job without. */
export class Share {
  readonly key: string;
  /** The round in which it is its turn: see FairQueue. */
  virtualTime = 0;
  /** The round of turns among its own jobs. */
  round = 0;
  /** Queued tasks of all its jobs. */
  queued = 0;
  /** Jobs in memory that have the key. */
  jobs = 0;

  constructor(key: string) {
    this.key = key;
  }
}
