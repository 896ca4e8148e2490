/** JSON whose whole numbers keep all their digits, also those that JavaScript has no number for. */
interface RawJson {
  readonly rawJSON: string;
}

/** Not in every browser yet, nor in the types. */
interface ExactJson {
  readonly rawJSON?: (text: string) => RawJson;
  readonly isRawJSON?: (value: unknown) => value is RawJson;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
  ): unknown;
}

const exact = JSON as unknown as ExactJson;
/** Most texts have none, and are parsed the quick way. */
const LONG = /[:[,\s]-?\d{16,}\s*[,\]}]|^-?\d{16,}$/;

export function parseExactly(text: string): unknown {
  const { rawJSON } = exact;
  if (rawJSON === undefined || !LONG.test(text)) return JSON.parse(text);
  return exact.parse(text, (_key, value, { source = '' } = {}) =>
    typeof value === 'number' && /^-?\d{16,}$/.test(source) && String(value) !== source
      ? rawJSON(source)
      : value,
  );
}

/** The digits of a number that was kept as they are; null for any other value. */
export const digitsOf = (value: object): string | null =>
  exact.isRawJSON?.(value) === true ? value.rawJSON : null;
