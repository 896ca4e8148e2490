/** What a submission returns: the job by its id, and the calls about it. */
import type { Json } from '../scheduler/core/index.ts';
import type { Client, JobHandle } from './client.ts';
import type { JobRef } from './options.ts';

/** Gives a result the type that its flow says. */
export type Read<O> = (result: Json) => O | Promise<O>;

/**
 * Programs hold thousands of them. So a method is made when somebody takes it: it can be called without the handle, as if
 * the handle were a plain object.
 */
export class Handle<O> implements JobHandle<O> {
  readonly id: string;
  readonly isNew: boolean;
  readonly #client: Client;
  readonly #read: Read<O>;

  constructor(client: Client, { id, isNew }: Pick<JobHandle<O>, 'id' | 'isNew'>, read: Read<O>) {
    this.id = id;
    this.isNew = isNew;
    this.#client = client;
    this.#read = read;
  }

  /** Null for a job that is named by its id alone. */
  static readerOf(job: JobRef): Read<unknown> | null {
    return typeof job === 'object' && #read in job ? job.#read : null;
  }

  get result(): JobHandle<O>['result'] {
    return (options) => this.#client.result<O>(this, options);
  }

  get ended(): JobHandle<O>['ended'] {
    return (options) => this.#client.ended(this.id, options);
  }

  get watch(): JobHandle<O>['watch'] {
    return (options) => this.#client.watch(this.id, options);
  }

  get cancel(): JobHandle<O>['cancel'] {
    return (reason) => this.#client.cancel(this.id, reason);
  }

  get signal(): JobHandle<O>['signal'] {
    return (name, value) => this.#client.signal(this.id, name, value);
  }

  get setPriority(): JobHandle<O>['setPriority'] {
    return (priority) => this.#client.setPriority(this.id, priority);
  }

  get reschedule(): JobHandle<O>['reschedule'] {
    return (runAt) => this.#client.reschedule(this.id, { runAt });
  }

  get job(): JobHandle<O>['job'] {
    return () => this.#client.job(this.id);
  }
}
