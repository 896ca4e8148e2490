import { LruCache } from '../../kit/index.ts';
import type { AsOf, EventPage, EventShape } from '../../scheduler/contract/index.ts';

/** A few: followers that keep up are at the newest, and others read the store anyway. */
const PAGES_MAX = 8;

/** Followers at the same position get the same page, so that it is serialised once for all of them. */
export class SharedPages {
  readonly #pages = new LruCache<string, EventPage>({ max: PAGES_MAX });

  /** One with these very events, or a new one. */
  page(events: readonly EventShape<Date>[], asOf: AsOf<Date>): EventPage {
    const [first] = events;
    // Without gaps its ends say what is in it; any other list is its own page.
    const isWhole = first !== undefined && asOf.seq - first.seq === events.length - 1;
    if (!isWhole) return { events, asOf };
    const key = `${first.seq}-${asOf.seq}/${asOf.at.getTime()}/${asOf.history ?? ''}`;
    const known = this.#pages.get(key);
    if (known !== undefined && known.events[0] === first) return known;
    const page = { events, asOf };
    this.#pages.set(key, page);
    return page;
  }
}
