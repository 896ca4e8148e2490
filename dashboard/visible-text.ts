/** Text that others wrote, before it is shown: everything that the page draws goes through here. */
import { options } from 'preact';

/** Marks that join letters and hyphenate words are part of them. */
const HIDDEN = /(?![\t\n\u00ad\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text of others, with what would turn it around or cannot be seen as code points: `⟨202E⟩`. */
export const visible = (text: string): string =>
  text.replaceAll(
    HIDDEN,
    (each) => `⟨${each.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );

/** What a browser shows of an element besides its text. */
const SHOWN = ['title', 'aria-label', 'placeholder'];

/** As Preact sees what it is about to draw: text has no type, and is its own properties. */
interface Drawn {
  readonly type: unknown;
  props: string | number | Record<string, unknown> | null;
}

/** From now on nothing that is drawn hides characters, whichever view it is in. What people type into a field stays as it is. */
export function showHidden(): void {
  const before = options.vnode?.bind(options);
  options.vnode = (node) => {
    const drawn = node as Drawn;
    if (typeof drawn.props === 'string') drawn.props = visible(drawn.props);
    else if (typeof drawn.type === 'string' && drawn.props !== null) {
      const attributes = drawn.props as Record<string, unknown>;
      for (const name of SHOWN) {
        const text = attributes[name];
        if (typeof text === 'string') attributes[name] = visible(text);
      }
    }
    before?.(node);
  };
}
