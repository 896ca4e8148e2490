/** A view whose code is fetched when somebody first goes there. */
import { signal } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import type * as MoreViews from '../more-views.ts';
import { Empty, Loading } from '../parts/marks.tsx';

type Views = typeof MoreViews;

const loaded = signal<Views | 'failed' | null>(null);
let isAsked = false;

function load(): void {
  isAsked = true;
  // A file of its own beside this one.
  const address = './more-views.js';
  (import(address) as Promise<Views>).then(
    (views) => (loaded.value = views),
    () => {
      isAsked = false;
      loaded.value = 'failed';
    },
  );
}

/** `id` goes to a view that shows one thing. */
export function Later({
  name,
  id,
}: {
  readonly name: keyof Views;
  readonly id?: string;
}): JSX.Element {
  const views = loaded.value;
  if (views === 'failed')
    return (
      <Empty title="This view could not be loaded">
        The server was away, or is of another version now.{' '}
        <button type="button" class="quiet" onClick={() => location.reload()}>
          Load the page again
        </button>
      </Empty>
    );
  if (views !== null) {
    const View = views[name] as ComponentType<{ readonly id?: string }>;
    return <View {...(id === undefined ? {} : { id })} />;
  }
  if (!isAsked) load();
  return (
    <section class="view">
      <Loading />
    </section>
  );
}
