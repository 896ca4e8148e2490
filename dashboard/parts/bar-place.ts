/** Where something lies on a line of time. */

export const percent = (part: number): string => `${(part * 100).toFixed(3)}%`;

/** Where a bar lies: at least so wide that it can be seen, and within its line. */
export const barPlace = (
  left: number,
  width: number,
): { readonly left: string; readonly width: string } => ({
  left: `min(${percent(left)}, 100% - 3px)`,
  width: `max(3px, ${percent(width)})`,
});
