export interface LinkedSignal {
  readonly signal: AbortSignal;
  readonly unlink: () => void;
}

/**
 * Aborted when the first of the signals is. `AbortSignal.any` would not do: on Node 20 a long-lived signal keeps
 * everything that was ever derived from it.
 */
export function linkedSignal(...signals: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController();
  const links = signals.map((signal) => {
    const pass = (): void => controller.abort(signal.reason);
    if (signal.aborted) pass();
    else signal.addEventListener('abort', pass, { once: true });
    return { signal, pass };
  });
  return {
    signal: controller.signal,
    unlink: () => {
      for (const { signal, pass } of links) signal.removeEventListener('abort', pass);
    },
  };
}
