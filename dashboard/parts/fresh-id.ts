/** An id for something new, so that a call whose answer was lost can be repeated without harm. */
import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/** Another one for another `content`: what was sent before must not be taken for it. Null where the browser has none. */
export function useFreshId(content: string): Signal<string | null> {
  const id = useSignal<string | null>(null);
  useEffect(() => {
    id.value = crypto.randomUUID === undefined ? null : crypto.randomUUID();
  }, [content]);
  return id;
}

export const idHeader = (id: string | null): Readonly<Record<string, string>> =>
  id === null ? {} : { 'millrace-job-id': id };
