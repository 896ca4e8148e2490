/** The fields that are not undefined: an optional property may be absent, but not undefined. */
export function defined<T extends object>(
  fields: T,
): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
