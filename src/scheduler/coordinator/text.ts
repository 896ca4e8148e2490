/** Free text from outside, made fit for every store: no NUL, no lone surrogates, not endless. */
const LENGTH_MAX = 10_000;

export function cleanText(text: string): string {
  const shown = text.length <= LENGTH_MAX ? text : `${text.slice(0, LENGTH_MAX)} ...`;
  // With the u flag this matches lone surrogates only; pairs are one character to it.
  return shown.replaceAll(/[\p{Surrogate}\0]/gu, '\uFFFD');
}
